"""The one table of answers that a check of schemathesis calls a failure and that are right all the same."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Exemption:
    check: str
    #: Method and path; a regular expression that matches all of it.
    operation: str
    status: int
    #: A regular expression for a part of the answer.
    answer: str
    reason: str

    @property
    def label(self):
        return f"{self.check} {self.operation} {self.status} {self.answer}"

    def covers(self, check, operation, status, answer):
        return (
            self.check == check
            and re.fullmatch(self.operation, operation) is not None
            and self.status == status
            and re.search(self.answer, answer) is not None
        )


INSIDE = r"[A-Z]+ /sandboxes/\{id\}/files.*"
REFUSED = "RejectedPositiveData"

EXCEPTIONS = [
    # What depends on the state of the service or of a sandbox.
    Exemption(REFUSED, INSIDE, 400, r"The path is a folder|not a folder", "what lies at the path in the sandbox"),
    Exemption(REFUSED, INSIDE, 413, r"50000 entries|listing is too long", "how much lies in the folder"),
    Exemption(REFUSED, r"POST /(sandboxes|templates/\{name\}/spawn)", 400, r"Setup command", "what the template's commands do"),
    Exemption(REFUSED, r"POST /(sandboxes(/admission)?|templates/\{name\}/spawn)", 412, r"precondition_failed", "what the provider can give under strict"),
    Exemption(REFUSED, r"POST /(sandboxes(/admission)?|templates(/\{name\}/spawn)?)|PUT /templates/\{name\}", 400, r"pull is always, but this server allows", "the configuration: images.pull"),
    Exemption(REFUSED, r"(POST|PUT) /(sandboxes|templates|egress).*", 400, r"There is no credential|names the credential \S+ twice", "which credentials there are, and a rule over names"),
    Exemption(REFUSED, r"POST /sandboxes/\{id\}/code", 408, r"did not end in time", "how fast the machine is: an interpreter starts first"),
    Exemption("ServerError", r".*", 503, r'"code":"unavailable"', "a documented answer: nothing can serve the request now"),
    Exemption("ServerError", r"POST /(sandboxes(/admission)?|templates(/\{name\}/spawn)?)|PUT /(templates/\{name\}|sandboxes/\{id\}/egress)", 501, r"transparent gate", "a documented answer: what the host can do"),
    # What a schema cannot say.
    Exemption(REFUSED, r"GET /(admin/usage|owners/\{owner_id\}/usage.*)", 400, r"from is not before to", "a rule over two times"),
    Exemption(REFUSED, r"PUT /admin/egress/credentials/\{name\}", 400, r"cannot set the header|first host of a credential is a wildcard", "names of headers in any case, and an item that differs from the others"),
    Exemption(REFUSED, r"GET /(admin/usage|owners/\{owner_id\}/usage.*)", 400, r"(from|to) is not a ", "which months have 31 days"),
    Exemption(REFUSED, r"PUT /sandboxes/\{id\}/files/\{path\}", 400, r"mode is given in the body and in the query", "a rule over query and body"),
    Exemption(REFUSED, r"PUT /templates/\{name\}", 400, r"not the name in the path", "a rule over path and body"),
    Exemption(REFUSED, r"POST /.*worker.*/heartbeat", 400, r"rpc_url is", "which addresses a host stands for, and the configuration"),
    Exemption(REFUSED, r"POST /sandboxes/\{id\}/exec", 400, r"Idempotency-Key has no standard input", "a rule over headers and body"),
    Exemption(REFUSED, r"GET /sandboxes/\{id\}/exec/ws", 426, r"WebSocket", "schemathesis speaks no WebSocket"),
    Exemption("AllowHeaderMismatch", INSIDE, 405, r"does not support this method", "PUT writes a file of that name"),
    Exemption("JsonSchemaError", r"GET (/admin)?/quotas/\{owner_id\}", 200, r'^\{"total"', "the owner is called summary, which the description excludes"),
    Exemption(REFUSED, r"PUT /templates/\{name\}", 400, r"If-Match is not valid", "schemathesis sends 0, which the pattern excludes"),
]
