/* Answers questions for names inside the gate. No question leaves the sandbox. */
#ifndef SVC_NAME_SERVICE_H
#define SVC_NAME_SERVICE_H

/* Answers on the socket, which is bound and tells the address that was asked, for as long as the agent lives. */
void name_service_start(int fd);

#endif
