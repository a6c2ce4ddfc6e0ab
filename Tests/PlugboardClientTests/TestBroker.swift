// A real broker on a socket of its own that a test can stop and start again.

import PlugboardBroker
import PlugboardPosix
import Synchronization

@testable import PlugboardClient

/// Runs brokers, one after the other, on one path in a folder that goes with it.
final class TestBroker: Sendable {
    let folder: TemporaryFolder
    var path: String { folder.path + "/bus.sock" }
    /// The folder of its journal, where it keeps one.
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

    /// What the broker answers to a line, as one would type it: for what the library
    /// doesn't ask.
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

    /// A bus that is quick to come back.
    func connect(_ name: String? = nil, options: Bus.Options = .quick) async throws -> Bus {
        try await Bus.connect(name: name, path: path, options: options)
    }
}

extension Bus.Options {
    /// For tests: short pauses, so that a reconnection takes no time worth waiting for.
    static var quick: Bus.Options {
        Bus.Options(backoff: Backoff(initial: .milliseconds(5), maximum: .milliseconds(20)))
    }
}

/// A folder with a short name, since a socket's path has little room.
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
