// A real broker for one test, with its own socket, on its own thread.
//
// Why an address: the C library's search of a long line is quick in a debug build, too. The address
// that it returns is turned into an offset at once.

import Foundation
import PlugboardBroker
import PlugboardJournal
import PlugboardPosix
import TestSupport

/// Runs a broker as long as the test holds this.
final class TestBroker: Sendable {
    let path: String
    private let broker: ServedBroker
    private let folder: TemporaryFolder

    /// With a folder, the broker keeps a journal there.
    init(
        poller: PollerKind = .standard,
        state: String? = nil,
        _ options: JournalOptions = JournalOptions(sync: .interval),
        policy: Policy? = nil,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws {
        folder = try TemporaryFolder(named: "pb")
        path = folder.path + "/bus.sock"
        var configuration = Configuration(socketPath: path, poller: poller, stateFolder: state)
        configuration.journal = options
        configuration.policy = policy
        configuration.report = report
        broker = try ServedBroker(configuration)
    }

    deinit {
        stop()
    }

    /// Stops the broker and waits until it has ended.
    func stop() { broker.stopAndWait(seconds: 5) }

    /// Runs a broker that keeps a journal in a folder, and stops it after `body`.
    static func run(
        state: String, _ options: JournalOptions, policy: Policy? = nil, _ body: (TestBroker) throws -> Void
    ) throws {
        let broker = try TestBroker(state: state, options, policy: policy)
        try body(broker)
        broker.stop()
    }

    /// Says why no other broker takes over.
    func stay(because reason: String) { broker.broker.stay(because: reason) }

    /// Follows another policy. The result is reported.
    func follow(_ policy: Policy) throws { try broker.broker.follow(policy) }

    func client(isGreeted: Bool = true) throws -> TestClient {
        try TestClient(path: path, isGreeted: isGreeted)
    }
}

/// A raw connection to a broker, without a library: lines out, lines in, with a deadline for each.
final class TestClient {
    let peer: LinePeer

    /// With `isGreeted` false, the greeting is read like any other line.
    init(path: String, isGreeted: Bool = true) throws {
        peer = try LinePeer(path: path)
        if isGreeted { _ = try line() }
    }

    /// Sends a line.
    func send(_ line: String) throws { try peer.send(line + "\n") }

    /// The next line, which must come.
    func line() throws -> String { try peer.text() }

    /// The next line; nil if the broker has closed.
    func lineOrEnd() throws -> String? { try peer.line().map { String(decoding: $0, as: UTF8.self) } }

    /// Sends a line and returns the next line that comes.
    func ask(_ line: String) throws -> String {
        try send(line)
        return try self.line()
    }

    /// Writes values to a few keys again and again, so many of them together. Returns how many were refused.
    func write(_ count: Int, keys: Int = 5, bytes: Int = 5_000, together: Int = 1) throws -> Int {
        let value = String(repeating: "x", count: bytes)
        var refused = 0
        for first in stride(from: 0, to: count / together * together, by: together) {
            let numbers = first..<first + together
            try send(numbers.map { "publish key.\($0 % keys) \"\($0) \(value)\"" }.joined(separator: "\n"))
            for _ in numbers where try !line().contains("\"ok\"") { refused += 1 }
        }
        return refused
    }
}

/// The number after `"field":` in a line; nil if there is none.
func number(_ field: String, in line: String) -> Int? {
    guard let end = end(of: "\"\(field)\":", in: line) else { return nil }
    return Int(line[end...].prefix { $0.isNumber })
}

/// The end of a text in a line. The library's own search takes a second for 300 KB in a debug build.
func end(of text: String, in line: String) -> String.Index? {
    unsafe line.withCString { start in
        unsafe text.withCString { unsafe strstr(start, $0) }.map {
            unsafe line.utf8.index(line.startIndex, offsetBy: $0 - UnsafeMutablePointer(mutating: start))
        }
    }.map { line.utf8.index($0, offsetBy: text.utf8.count) }
}
