// Ports on loopback for the programs that tests start, and a server that never answers.

import Foundation
import PlugboardPosix
import TestSupport

/// Ports that nobody uses. Somebody might take one before it is used, which has not been seen.
enum FreePorts {
    static func take(_ count: Int) throws -> [Int] {
        var sockets: [Int32] = []
        defer { for socket in sockets { close(socket) } }
        return try (0..<count).map { _ in
            let (fd, port) = try SystemCalls.bindLoopback()
            sockets.append(fd)
            return port
        }
    }
}

/// Somebody who takes connections and never says anything.
final class SilentServer: Sendable {
    let address: String
    private let fd: Int32

    init() throws {
        let port: Int
        (fd, port) = try SystemCalls.bindLoopback()
        address = "http://127.0.0.1:\(port)"
        guard listen(fd, 64) == 0 else { throw SystemError.last("listen", address) }
    }

    deinit { close(fd) }
}
