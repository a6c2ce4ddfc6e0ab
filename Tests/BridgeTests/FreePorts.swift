// Ports on loopback for the programs that tests start, and a server that never answers.
//
// Why an address: `bind` takes one of a general form. It is used up within the call.

import Foundation
import PlugboardPosix

/// Ports that nobody uses. Somebody might take one before it is used, which has not been seen.
enum FreePorts {
    static func take(_ count: Int) throws -> [Int] {
        var sockets: [Int32] = []
        defer { for socket in sockets { close(socket) } }
        return try (0..<count).map { _ in
            let (fd, port) = try bound()
            sockets.append(fd)
            return port
        }
    }

    /// A socket at a free port.
    fileprivate static func bound() throws -> (fd: Int32, port: Int) {
        let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(fd, $0, length) == 0 && getsockname(fd, $0, &length) == 0
            }
        }
        guard isBound else {
            close(fd)
            throw SystemError.last("bind", "127.0.0.1")
        }
        return (fd, Int(UInt16(bigEndian: address.sin_port)))
    }
}

/// Somebody who takes connections and never says anything.
final class SilentServer: Sendable {
    let address: String
    private let fd: Int32

    init() throws {
        let port: Int
        (fd, port) = try FreePorts.bound()
        address = "http://127.0.0.1:\(port)"
        guard listen(fd, 64) == 0 else { throw SystemError.last("listen", address) }
    }

    deinit { close(fd) }
}
