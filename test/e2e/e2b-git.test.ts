// Git by the newest unmodified SDK of E2B from npm, against a repository that is served over HTTP in the sandbox and asks for a password.
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../support/requires.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const LATER = { timeout: 60_000 };
const [PORT, USERNAME, PASSWORD] = [8418, 'git', 'to:ken'];
const URL_OF_IT = `http://127.0.0.1:${PORT}/store.git`;
/** Git's own server of the protocol, behind a password. */
const SERVE = `
import base64, http.server, os, subprocess
WANTED = "Basic " + base64.b64encode(b"${USERNAME}:${PASSWORD}").decode()
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        if self.headers.get("Authorization") != WANTED:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="store"')
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        env = {**os.environ, "GIT_PROJECT_ROOT": "/tmp/served", "GIT_HTTP_EXPORT_ALL": "1", "REMOTE_USER": "git",
               "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": self.command, "CONTENT_LENGTH": str(size),
               "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "CONTENT_TYPE": self.headers.get("Content-Type", ""), "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", "")}
        said = subprocess.run(["git", "http-backend"], input=body, env=env, stdout=subprocess.PIPE).stdout
        head, _, content = said.partition(b"\\r\\n\\r\\n")
        lines = [line.split(": ", 1) for line in head.decode().split("\\r\\n")]
        self.send_response(int(dict(lines).get("Status", "200").split()[0]))
        for name, value in lines:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
    do_GET = do_POST = answer
http.server.ThreadingHTTPServer(("127.0.0.1", ${PORT}), Handler).serve_forever()
`;
const nameOf = async (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    ({ name }: Error) => name,
  );

describeWith(['bwrap', 'python3'], 'git of programs for E2B', () => {
  let server: TestServer;
  let sandbox: Sandbox;
  const run = async (command: string) => (await sandbox.commands.run(command)).stdout.trim();

  beforeAll(async () => {
    server = await startServer({ env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'bwrap' } });
    sandbox = await Sandbox.create({ apiKey: 'e2b_0', apiUrl: server.url, sandboxUrl: server.url });
    await sandbox.git.init('/tmp/served/store.git', { bare: true, initialBranch: 'main' });
    await run('git -C /tmp/served/store.git config http.receivepack true');
    await sandbox.files.write('/tmp/serve.py', SERVE);
    await sandbox.commands.run('exec python3 /tmp/serve.py', { background: true, timeoutMs: 0 });
    const listens = `python3 -c 'import socket; socket.create_connection(("127.0.0.1", ${PORT}))' && echo yes || true`;
    await until('the server of the repository', async () => (await run(listens)) === 'yes');
  }, 60_000);
  afterAll(async () => {
    await sandbox.kill();
    await server.stop();
    removeHome(server.home);
  });

  it('clones, commits, branches, pushes and pulls with a password', LATER, async () => {
    const { git } = sandbox;
    const given = { username: USERNAME, password: PASSWORD };
    await git.configureUser('A B', 'a@example.com');
    expect([await git.getConfig('user.name'), await git.getConfig('user.none')]).toEqual(['A B', undefined]);
    expect(await nameOf(git.clone(URL_OF_IT, { path: '/tmp/one' }))).toBe('GitAuthError');
    await git.clone(URL_OF_IT, { path: '/tmp/one', ...given });
    // The password stays out of the repository.
    expect(await git.remoteGet('/tmp/one', 'origin')).toBe(URL_OF_IT);
    await sandbox.files.write('/tmp/one/note', 'first');
    await git.add('/tmp/one');
    await git.commit('/tmp/one', "first's note", { authorName: 'C', authorEmail: 'c@example.com' });
    expect(await run('git -C /tmp/one log -1 --pretty="%s %an %ce"')).toBe("first's note C c@example.com");
    expect(await nameOf(git.push('/tmp/one', { setUpstream: false }))).toBe('GitAuthError');
    await git.push('/tmp/one', { remote: 'origin', branch: 'main', ...given });
    expect(await run('git --git-dir=/tmp/served/store.git log -1 --pretty=%s main')).toBe("first's note");

    await git.createBranch('/tmp/one', 'work');
    await sandbox.files.write('/tmp/one/note', 'second');
    expect((await git.status('/tmp/one')).fileStatus).toMatchObject([{ name: 'note', status: 'modified' }]);
    await git.restore('/tmp/one', { paths: ['note'] });
    expect(await sandbox.files.read('/tmp/one/note')).toBe('first');
    await git.commit('/tmp/one', 'nothing', { allowEmpty: true });
    await git.reset('/tmp/one', { mode: 'hard', target: 'HEAD~1' });
    expect(await git.branches('/tmp/one')).toMatchObject({
      currentBranch: 'work',
      branches: ['main', 'work'],
    });
    expect(await nameOf(git.pull('/tmp/one'))).toBe('GitUpstreamError');
    await git.checkoutBranch('/tmp/one', 'main');
    await git.deleteBranch('/tmp/one', 'work', { force: true });

    await git.clone(URL_OF_IT, { path: '/tmp/two', branch: 'main', depth: 1, ...given });
    await sandbox.files.write('/tmp/two/other', 'x');
    await git.add('/tmp/two', { files: ['other'] });
    await git.commit('/tmp/two', 'second');
    // From here on git knows the password.
    await git.dangerouslyAuthenticate({ ...given, host: `127.0.0.1:${PORT}`, protocol: 'http' });
    expect(await git.getConfig('credential.helper', { scope: 'global' })).toBe('store');
    await git.push('/tmp/two');
    await git.pull('/tmp/one');
    expect(await sandbox.files.read('/tmp/one/other')).toBe('x');
  });
});
