// A peer that says what a test tells it to say, for everything that a real broker never
// does.

import PlugboardPosix
import PlugboardWire
import Synchronization
import TestSupport

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
    private let end: LinePeer

    private init(_ end: LinePeer) {
        self.end = end
    }

    static func accept(_ listener: borrowing Descriptor) throws -> Peer {
        Peer(try LinePeer.accept(listener))
    }

    /// Writes text as it is.
    func send(raw text: String) throws { try end.send(text) }

    func send(_ line: String) throws { try end.send(line + "\n") }

    /// The next line; nil when the client is gone.
    func line() throws -> String? {
        do {
            return try end.line().map { String(decoding: $0, as: UTF8.self) }
        } catch LinePeer.Problem.failed {
            return nil
        }
    }

    /// Reads a request and returns its id. It must have this operation.
    @discardableResult
    func expect(_ operation: String) throws -> Int {
        guard let line = try line() else { throw NeverHappened(description: "\(operation): the client left") }
        guard line.hasPrefix(#"{"op":"\#(operation)""#) else {
            throw NeverHappened(description: "\(operation), but \(line)")
        }
        return line.requestID ?? -1
    }

    /// Waits until the client closes.
    func drain() throws {
        while try line() != nil {}
    }
}

extension String {
    /// The `id` of a request.
    var requestID: Int? { number(after: #""id":"#) }

    /// The number after a piece of text.
    func number(after text: String) -> Int? {
        guard let range = firstRange(of: text) else { return nil }
        return Int(self[range.upperBound...].prefix { $0.isNumber })
    }
}
