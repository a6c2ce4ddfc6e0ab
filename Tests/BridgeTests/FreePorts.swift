// Ports on loopback for the programs that tests start, and a server that never answers.

import Foundation
import PlugboardPosix
import Synchronization
import TestSupport

/// Ports that nobody uses. The system gives none of these to a connection that is made in the meantime, and no two
/// tests of this process get the same.
enum FreePorts {
    /// Below the ports that Linux and macOS choose themselves.
    private static let all = 20_000..<32_000
    private static let next = Atomic(Int.random(in: all))

    static func take(_ count: Int) throws -> [Int] {
        var ports: [Int] = []
        for _ in all where ports.count < count {
            let port = next.wrappingAdd(1, ordering: .relaxed).oldValue % all.count + all.lowerBound
            guard let socket = try? SystemCalls.bindLoopback(port: port) else { continue }
            close(socket.fd)
            ports.append(port)
        }
        guard ports.count == count else { throw SystemError.last("bind", "127.0.0.1") }
        return ports
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

    /// Whether anybody has connected.
    func wasCalled() throws -> Bool {
        let poller = PollPoller()
        try poller.add(fd, token: 0, interest: .read)
        var isReady = false
        try poller.wait(milliseconds: 0) { _ in isReady = true }
        return isReady
    }
}
