// A client without a library: lines out, lines in, with a deadline for each.
//
// Why an address: the C library's search of a long line is quick in a debug build, too. The address
// that it returns is turned into an offset at once.

import Foundation
import PlugboardPosix
import TestSupport

struct TestFailure: Error, CustomStringConvertible {
    let description: String
}

/// A raw connection to a broker.
final class TestClient {
    private let descriptor: Descriptor
    private var unread: [UInt8] = []
    private var position = 0
    /// The bytes of the unread ones that certainly have no line feed.
    private var searched = 0
    /// The broker's greeting.
    private(set) var greeting = ""

    /// With `isGreeted` false, the greeting is read like any other line.
    init(path: String, isGreeted: Bool = true) throws {
        descriptor = try UnixSocket.connect(path: path)
        if isGreeted { greeting = try line() }
    }

    var fd: Int32 { descriptor.raw }

    /// Sends a line.
    func send(_ line: String) throws {
        try send(bytes: Array(line.utf8) + [0x0A])
    }

    /// Sends bytes as they are. Waits for room.
    func send(bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            switch descriptor.write(rest.span) {
            case .bytes(let count): rest = rest.dropFirst(count)
            case .wouldBlock: try wait(Int16(POLLOUT))
            default: throw TestFailure(description: "the broker closed while it was written to")
            }
        }
    }

    /// Sends what can be sent at once. Returns how many bytes that were.
    func sendSome(_ bytes: [UInt8]) -> Int {
        if case .bytes(let count) = descriptor.write(bytes.span) { return count }
        return 0
    }

    /// The next line. Throws at the end of the stream, or after a minute.
    func line() throws -> String {
        guard let line = try lineOrEnd() else { throw TestFailure(description: "the broker closed") }
        return line
    }

    /// The next line; nil if the broker has closed.
    func lineOrEnd() throws -> String? {
        while true {
            if let feed = unread.lineFeed(from: searched) {
                defer { (position, searched) = (feed + 1, feed + 1) }
                return String(decoding: unread[position..<feed], as: UTF8.self)
            }
            if position > 0 { unread.removeFirst(position) }
            position = 0
            searched = unread.count
            if try !readMore() { return nil }
        }
    }

    /// Sends a line and returns the next line that comes.
    func ask(_ line: String) throws -> String {
        try send(line)
        return try self.line()
    }

    /// The same without times.
    func untimed(_ line: String) throws -> String {
        try ask(line).replacing(/,"when":"[^"]*"/, with: "")
    }

    /// Ends the sending half. Reading still works.
    func halfClose() {
        shutdown(descriptor.raw, Int32(SHUT_WR))
    }

    private func readMore() throws -> Bool {
        while true {
            let (transfer, bytes) = PipeCalls.read(descriptor.raw, upTo: 65_536)
            switch transfer {
            case .bytes:
                unread.append(contentsOf: bytes)
                return true
            case .wouldBlock: try wait(Int16(POLLIN))
            default: return false
            }
        }
    }

    private func wait(_ events: Int16) throws {
        guard SystemCalls.wait(descriptor.raw, for: Int32(events), milliseconds: HangGuard.milliseconds) != 0
        else {
            throw TestFailure(description: "nothing came")
        }
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
