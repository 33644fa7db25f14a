"""A way to the database that can be cut, go silent, or lead elsewhere."""

import contextlib
import socket
import threading


class Proxy:
    """Passes a TCP port of ours on to ``target``, a unix socket or a host and port, which may be changed."""

    def __init__(self, target: str | tuple[str, int]) -> None:
        self.target = target
        self.waiting = 0  # clients that were let in while nothing was passed on, ever
        self._open = threading.Event()  # clear: nothing is passed on, and nobody is told
        self._open.set()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._forgotten: set[tuple[socket.socket, socket.socket]] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name="test-proxy", daemon=True).start()

    def cut(self) -> None:
        """End every connection, as a server does that is killed."""
        for pair in list(self._pairs):
            for side in pair:
                with contextlib.suppress(OSError):
                    side.shutdown(socket.SHUT_RDWR)

    def black_hole(self) -> None:
        """Pass nothing on any more, without a word, as a firewall does."""
        self._open.clear()

    def heal(self) -> None:
        self._open.set()

    def forget(self) -> None:
        """Pass nothing on any more of the connections that there are, as a firewall does that was restarted."""
        self._forgotten |= self._pairs

    def close(self) -> None:
        self._listener.close()
        self.heal()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), name="test-proxy", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self.waiting += not self._open.is_set()
        self._open.wait()
        family = socket.AF_UNIX if isinstance(self.target, str) else socket.AF_INET
        with client, socket.socket(family) as server:
            try:
                server.connect(self.target)
            except OSError:
                return  # refused, as the server itself would
            pair = (client, server)
            self._pairs.add(pair)
            back = threading.Thread(target=self._pass_on, args=(server, client, pair), name="test-proxy", daemon=True)
            back.start()
            self._pass_on(client, server, pair)
            back.join()
            self._pairs.discard(pair)

    def _pass_on(self, source: socket.socket, sink: socket.socket, pair: tuple[socket.socket, socket.socket]) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._open.wait()
                if pair not in self._forgotten:
                    sink.sendall(data)
        for side in (source, sink):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)
