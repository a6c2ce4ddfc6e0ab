// A number for everything that each simulated world tells. Two builds of the broker that tell the same
// have the same numbers. `.ci/digests` writes them to a file.

import Dispatch
import PlugboardPosix
import Synchronization
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("digests of the simulated worlds", .oneAtATime)
struct DigestTests {
    @Test(
        "each world's is written down",
        .enabled(if: SocketPath.variable("PLUGBOARD_DIGESTS") != nil, "PLUGBOARD_DIGESTS names no file"),
        .timeLimit(.minutes(20))
    )
    func digests() throws {
        let path = try #require(SocketPath.variable("PLUGBOARD_DIGESTS"))
        let worlds = try #require(Int(SocketPath.variable("PLUGBOARD_WORLDS") ?? "10000"))
        let text =
            Self.lines(worlds, "whole") { Recording(seed: $0) }
            + Self.lines(worlds / 10, "failing") { Recording(seed: 2 * $0 + 1, isFailing: true) }
        try OutputFile.write(text, to: path)
    }

    /// A line for each world: its kind, its seed and its digest.
    private static func lines(
        _ worlds: Int, _ kind: String, _ play: @Sendable (UInt64) -> Recording
    ) -> String {
        let digests = Mutex([UInt64](repeating: 0, count: worlds))
        DispatchQueue.concurrentPerform(iterations: worlds) { number in
            let digest = play(UInt64(number)).fingerprint.value
            digests.withLock { $0[number] = digest }
        }
        let all = digests.withLock { $0 }
        return all.enumerated().map { "\(kind) \($0.offset) \(String($0.element, radix: 16))\n" }.joined()
    }

    @Test("a byte more or less, or told to another client, is another digest")
    func digestsTell() {
        let world = { (told: [(String, String)]) in
            var digest = Fingerprint()
            for (client, line) in told { digest.add(line, to: client) }
            return digest.value
        }
        let digest = world([("c1", #"{"ok":"sync","revision":1}"#), ("c2", "{}")])
        #expect(digest == world([("c1", #"{"ok":"sync","revision":1}"#), ("c2", "{}")]))
        #expect(digest != world([("c1", #"{"ok":"sync","revision":2}"#), ("c2", "{}")]))
        #expect(digest != world([("c2", #"{"ok":"sync","revision":1}"#), ("c1", "{}")]))
        #expect(digest != world([("c1", #"{"ok":"sync","revision":1}"#)]))
    }
}

/// A number for everything that was told, line by line: FNV-1a of each client's name and the bytes of its line.
/// Two fingerprints of the same lines are equal.
struct Fingerprint: Equatable {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ line: String, to client: String) {
        // No line contains these bytes, so a name and a line can't run together.
        for byte in client.utf8 { mix(byte) }
        mix(0)
        for byte in line.utf8 { mix(byte) }
        mix(0x0A)
    }

    private mutating func mix(_ byte: UInt8) {
        value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }
}
