// A client of HTTP over a plain socket, so that tests can send what no browser would. Also for the driver
// of a browser. Every wait has a deadline.

import PlugboardMemory
import PlugboardPosix
import TestSupport

/// An answer of an HTTP server.
struct WebReply {
    let status: Int
    let head: String
    let body: String
}

/// One connection to a server of this machine. Used by one thread.
final class WebClient {
    private let socket: Descriptor
    private let seconds: Double
    private var bytes: [UInt8] = []
    private(set) var isEnded = false

    /// With `kernelBytes`, the kernel keeps so much of what wasn't read.
    init(port: UInt16, seconds: Double = HangGuard.seconds, kernelBytes: Int32? = nil) throws {
        socket = try LoopbackSocket.connect(port: port)
        if let kernelBytes { UnixSocket.setBuffers(socket.raw, bytes: kernelBytes) }
        self.seconds = seconds
    }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    /// Sends all, or as much as the server takes before it closes.
    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            switch socket.write(bytes.span.extracting(sent..<bytes.count)) {
            case .bytes(let count): sent += count
            case .wouldBlock:
                _ = PipeCalls.wait(for: [.write], of: socket.raw, milliseconds: HangGuard.milliseconds)
            case .ended, .failed: return
            }
        }
    }

    /// Sends a request, and returns its answer.
    func ask(
        _ method: String, _ target: String, _ headers: [(String, String)], _ body: String = ""
    ) throws -> WebReply {
        var text = "\(method) \(target) HTTP/1.1\r\n"
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        if !body.isEmpty { text += "Content-Length: \(body.utf8.count)\r\n" }
        try send(text + "\r\n" + body)
        return try reply()
    }

    /// The next answer, with its body if it says how long that is.
    func reply() throws -> WebReply {
        let end = try place(after: "\r\n\r\n")
        let head = String(decoding: bytes[..<end], as: UTF8.self)
        bytes.removeFirst(end)
        let length = head.lowercased().firstMatch(of: /content-length: *([0-9]+)/).flatMap { Int($0.1) } ?? 0
        while bytes.count < length { try receive() }
        let body = String(decoding: bytes[..<length], as: UTF8.self)
        bytes.removeFirst(length)
        let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return WebReply(status: status, head: head, body: body)
    }

    /// The next block of a stream, up to its empty line.
    func block() throws -> String {
        let end = try place(after: "\n\n")
        defer { bytes.removeFirst(end) }
        return String(decoding: bytes[..<(end - 2)], as: UTF8.self)
    }

    /// Whether the server closes the connection in time. What it sends until then is dropped.
    func waitForEnd() throws {
        while !isEnded { try receive() }
    }

    /// Takes what has come, without waiting.
    func drainNow() throws {
        while !isEnded, PipeCalls.isReadable(socket.raw) { try receive() }
    }

    /// Reads until the mark has come. What was searched isn't searched again.
    private func place(after mark: String) throws -> Int {
        let mark = Array(mark.utf8)
        var start = 0
        while true {
            while let feed = bytes.span.firstIndex(of: 0x0A, from: start) {
                start = feed + 1
                if start >= mark.count, bytes[(start - mark.count)..<start].elementsEqual(mark) {
                    return start
                }
            }
            start = bytes.count
            guard !isEnded else { throw NeverHappened(description: "more than \(bytes.count) bytes") }
            try receive()
        }
    }

    private func receive() throws {
        guard PipeCalls.wait(for: [.read], of: socket.raw, milliseconds: Int32(seconds * 1_000)) != 0 else {
            throw NeverHappened(description: "nothing came within \(seconds) s")
        }
        var chunk = [UInt8](repeating: 0, count: 65_536)
        var room = chunk.mutableSpan
        switch socket.read(into: &room) {
        case .bytes(let count): bytes += chunk[..<count]
        case .wouldBlock: break
        case .ended, .failed: isEnded = true
        }
    }
}
