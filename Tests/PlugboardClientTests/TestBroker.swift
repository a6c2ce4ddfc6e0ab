// A real broker with its own socket, which a test can stop and start again.

import PlugboardBroker
import PlugboardPosix
import Synchronization

@testable import PlugboardClient

/// Runs one broker after the other on one path, in a folder that is removed with it.
final class TestBroker: Sendable {
    let folder: TemporaryFolder
    var path: String { folder.path + "/bus.sock" }
    /// The folder of its journal, if it has one.
    private let state: PlugboardPosix.TemporaryFolder?
    private let running = Mutex<Running?>(nil)

    private struct Running {
        let broker: Broker
        let hasEnded: Flag
    }

    init(isKept: Bool = false) async throws {
        folder = try TemporaryFolder()
        state = isKept ? try PlugboardPosix.TemporaryFolder(named: "pbs") : nil
        try await start()
    }

    deinit {
        running.withLock { $0?.broker.stop() }
    }

    func start() async throws {
        let broker = try Broker(configuration: Configuration(socketPath: path, stateFolder: state?.path))
        let hasEnded = Flag()
        try Background.start {
            do { try broker.run() } catch { StandardStream.complain("test broker: \(error)") }
            hasEnded.raise()
        }
        running.withLock { $0 = Running(broker: broker, hasEnded: hasEnded) }
    }

    /// Stops the broker and waits until its socket and its lock are free.
    func stop() async throws {
        let hasEnded = running.withLock { running in
            running?.broker.stop()
            defer { running = nil }
            return running?.hasEnded
        }
        try await eventually("the broker ends") { hasEnded?.isRaised ?? true }
    }

    /// The broker's answer to a typed line, for requests that the library doesn't have.
    func ask(_ request: String) throws -> String {
        let socket = try UnixSocket.connect(path: path)
        UnixSocket.setBlocking(socket.raw, true)
        guard case .bytes = Array("\(request)\n".utf8).withUnsafeBytes({ socket.write($0) }) else {
            throw NeverHappened(description: "\(request): not written")
        }
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let lines = received.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast()
            // The first line is the greeting.
            if lines.count > 1 { return String(decoding: lines[1], as: UTF8.self) }
            guard case .bytes(let count) = buffer.withUnsafeMutableBytes({ socket.read(into: $0) }) else {
                throw NeverHappened(description: "\(request): no answer")
            }
            received += buffer[..<count]
        }
    }

    /// A bus that reconnects quickly.
    func connect(_ name: String? = nil, options: Bus.Options = .quick) async throws -> Bus {
        try await Bus.connect(name: name, path: path, options: options)
    }
}

extension Bus.Options {
    /// Short pauses, so that tests needn't wait for a reconnection.
    static var quick: Bus.Options {
        Bus.Options(backoff: Backoff(initial: .milliseconds(5), maximum: .milliseconds(20)))
    }
}

/// A folder with a short name, because a socket's path has little room.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/pbc-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError.last("mkdtemp") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        for name in ["bus.sock", "bus.sock.lock"] { unlink(path + "/" + name) }
        rmdir(path)
    }
}
