// A peer that says what a test tells it to say, for everything that a real broker never
// does.

import PlugboardPosix
import PlugboardWire
import Synchronization

@testable import PlugboardClient

/// Listens on a socket and plays one script for each connection, in order.
final class FakeBroker: Sendable {
    let folder: TemporaryFolder
    var path: String { folder.path + "/bus.sock" }
    /// Set when the last script has ended.
    let hasEnded = Flag()

    typealias Script = @Sendable (Peer) throws -> Void

    init(_ test: String = #function, _ scripts: Script...) throws {
        folder = try TemporaryFolder()
        let listener = try UnixSocket.listen(path: folder.path + "/bus.sock")
        let raw = listener.release()
        let hasEnded = hasEnded
        try Background.start {
            let listener = Descriptor(adopting: raw)
            for script in scripts {
                do {
                    try script(try Peer.accept(listener))
                } catch {
                    StandardStream.complain("fake broker of \(test): \(error)")
                }
            }
            hasEnded.raise()
        }
    }

    func connect(_ name: String? = nil, options: Bus.Options = .quick) async throws -> Bus {
        try await Bus.connect(name: name, path: path, options: options)
    }

    static func greeting(
        epoch: String = "e1",
        revision: Int = 0,
        features: String = #""batch","new""#
    ) -> String {
        #"{"event":"hello","broker":"plugboard","version":"9","protocol":1,"epoch":"\#(epoch)","#
            + #""revision":\#(revision),"client":7,"limits":{"line":1048576},"features":[\#(features)]}"#
    }
}

/// One connection of a fake broker. Its script's thread uses it.
final class Peer {
    private let socket: Descriptor
    private let poller = PollPoller()
    private var received: [UInt8] = []

    private init(_ socket: consuming Descriptor) throws {
        self.socket = socket
        try poller.add(self.socket.raw, token: 0, interest: .read)
    }

    static func accept(_ listener: borrowing Descriptor) throws -> Peer {
        let poller = PollPoller()
        try poller.add(listener.raw, token: 0, interest: .read)
        for _ in 0..<200 {
            if case .connection(let socket) = try UnixSocket.accept(listener.raw) { return try Peer(socket) }
            try poller.wait(milliseconds: 100) { _ in }
        }
        throw NeverHappened(description: "nobody connects")
    }

    /// Writes text unchanged.
    func send(raw text: String) throws {
        var rest = Array(text.utf8)
        try poller.change(socket.raw, token: 0, interest: .write)
        while !rest.isEmpty {
            switch rest.withUnsafeBytes({ socket.write($0) }) {
            case .bytes(let count): rest.removeFirst(count)
            case .wouldBlock: try poller.wait(milliseconds: 100) { _ in }
            case .ended: return
            case .failed(let code): throw SystemError(code: code, operation: "send")
            }
        }
        try poller.change(socket.raw, token: 0, interest: .read)
    }

    func send(_ line: String) throws {
        try send(raw: line + "\n")
    }

    /// The next line; nil when the client is gone.
    func line() throws -> String? {
        for _ in 0..<200 {
            if let end = received.firstIndex(of: 0x0A) {
                let line = String(decoding: received[..<end], as: UTF8.self)
                received.removeFirst(end + 1)
                return line
            }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            switch buffer.withUnsafeMutableBytes({ socket.read(into: $0) }) {
            case .bytes(let count): received += buffer[..<count]
            case .wouldBlock: try poller.wait(milliseconds: 100) { _ in }
            case .ended, .failed: return nil
            }
        }
        throw NeverHappened(description: "the client sends nothing")
    }

    /// Reads a request and returns its id. It must have this operation.
    @discardableResult
    func expect(_ operation: String) throws -> Int {
        guard let line = try line() else { throw NeverHappened(description: "\(operation): the client left") }
        guard line.hasPrefix(#"{"op":"\#(operation)""#) else {
            throw NeverHappened(description: "\(operation), but \(line)")
        }
        let id = line.split(separator: #""id":"#).last.flatMap { Int($0.dropLast()) }
        return id ?? -1
    }

    /// Waits until the client closes.
    func drain() throws {
        while try line() != nil {}
    }
}
