// What the page's tests do beside the browser: they ask who observes, and write without end.

import PlugboardPosix
import TestSupport
import Testing

/// Asks how many observers a key has.
struct ObserverCount {
    private let key: String
    private let peer: LinePeer

    init(of key: String, path: String) throws {
        self.key = key
        peer = try LinePeer(path: path)
    }

    func now() throws -> Int {
        try peer.send("who \(key)\n")
        var answer = ""
        while !answer.contains("\"ok\":\"who\"") { answer = try peer.text() }
        return answer.ranges(of: "\"pattern\"").count
    }

    func waitForNone() throws {
        try eventually("nobody observes \(key)") { try now() == 0 }
    }
}

/// Publishes numbers to a key as fast as the broker takes them, on a thread of its own.
final class PageLoad: Sendable {
    private let isStopping = Shared(false)
    private let last = Shared<Int?>(nil)

    init(_ key: String, path: String) throws {
        let (isStopping, last) = (isStopping, last)
        try Background.start {
            var number = 0
            do {
                let peer = try LinePeer(path: path)
                while !isStopping.get() {
                    let lines = (number + 1...number + 500).map {
                        "{\"op\":\"publish\",\"key\":\"\(key)\",\"value\":\($0)}\n"
                    }
                    try peer.send(lines.joined())
                    number += 500
                }
            } catch {
                print("a test's load: \(error)")
            }
            last.set(number)
        }
    }

    deinit { isStopping.set(true) }

    /// Stops it, and returns the last number.
    func stop() throws -> Int {
        isStopping.set(true)
        try eventually("the load ends") { last.get() != nil }
        return last.get() ?? 0
    }
}
