# A small web server for previews: what it says depends on the path. Standard library only; runs inside sandboxes.
import base64, hashlib, http.server, json, socketserver, sys, time


class Guest(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        if self.path == '/ws':
            return self.web_socket()
        if self.path == '/headers':
            return self.answer(json.dumps(self.headers.items()).encode())
        if self.path == '/events':
            return self.events()
        if self.path == '/endless':
            self.wfile.write(b'HTTP/1.1 200 OK\r\n')
            try:
                while True:
                    self.wfile.write(b'X: y\r\n' * 100)
            except OSError:
                self.close_connection = True
                return
        if self.path == '/short':
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhi')
            self.close_connection = True
            return
        self.answer(('%s %s' % (self.headers['Host'], self.path)).encode())

    def do_POST(self):
        size, digest = int(self.headers['Content-Length']), hashlib.sha256()
        while size > 0:
            part = self.rfile.read(min(size, 65536))
            size -= len(part)
            digest.update(part)
        self.answer(digest.hexdigest().encode())

    def answer(self, body):
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def events(self):
        self.send_response(200)
        self.send_header('Content-Type', 'text/event-stream')
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        try:
            for number in range(10000):
                data = b'data: %d\n\n' % number
                self.wfile.write(b'%x\r\n%s\r\n' % (len(data), data))
                time.sleep(0.1)
        except OSError:
            self.close_connection = True

    # Text up to 125 bytes comes back as it came.
    def web_socket(self):
        key = self.headers['Sec-WebSocket-Key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
        self.send_response(101)
        self.send_header('Connection', 'Upgrade')
        self.send_header('Upgrade', 'websocket')
        self.send_header('Sec-WebSocket-Accept', base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        while True:
            head = self.rfile.read(6)
            if len(head) < 6:
                break
            mask, body = head[2:6], self.rfile.read(head[1] & 127)
            plain = bytes(byte ^ mask[at % 4] for at, byte in enumerate(body))
            self.wfile.write(bytes([head[0], len(plain)]) + plain)
            if head[0] & 15 == 8:
                break
        self.close_connection = True

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


Server(('127.0.0.1', int(sys.argv[1])), Guest).serve_forever()
