// The network path of one host: a program that passes connections on to etcd's nodes. While it is stopped,
// nothing is lost and nothing arrives.

import Foundation
import TestSupport

final class StallingProxy: Sendable {
    static let isPossible = FileManager.default.isExecutableFile(atPath: python)
    private static let python = "/usr/bin/python3"

    /// Where the host finds etcd.
    let nodes: [String]
    private let program: TestProgram

    init(to nodes: [String]) throws {
        let ports = try FreePorts.take(nodes.count)
        let pairs = zip(ports, nodes).map { "\($0)=\($1.split(separator: ":").last ?? "")" }
        program = try TestProgram(Self.python, ["-c", Self.script] + pairs)
        self.nodes = ports.map { "http://127.0.0.1:\($0)" }
    }

    func stall() { program.signal(SIGSTOP) }
    func goOn() { program.signal(SIGCONT) }

    private static let script = """
        import asyncio, sys
        async def copy(reader, writer):
            try:
                while data := await reader.read(65536):
                    writer.write(data)
                    await writer.drain()
            except OSError:
                pass
            finally:
                writer.close()
        def to(port):
            async def serve(reader, writer):
                try:
                    other, out = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    writer.close()
                    return
                await asyncio.gather(copy(reader, out), copy(other, writer))
            return serve
        async def main():
            for pair in sys.argv[1:]:
                here, there = pair.split("=")
                await asyncio.start_server(to(int(there)), "127.0.0.1", int(here))
            await asyncio.Event().wait()
        asyncio.run(main())
        """
}
