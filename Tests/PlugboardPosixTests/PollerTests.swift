// One suite for all pollers, because they must behave alike.

import PlugboardPosix
import TestSupport
import Testing

@Suite("pollers", .someAtATime)
struct PollerTests {
    /// The result of one wait.
    private func ready(_ poller: any Poller, milliseconds: Int32 = 0) throws -> [Readiness] {
        var told: [Readiness] = []
        try poller.wait(milliseconds: milliseconds) { told.append($0) }
        return told.sorted { $0.token < $1.token }
    }

    private func send(_ text: String, to socket: borrowing Descriptor) {
        let bytes = Array(text.utf8)
        let sent = socket.write(bytes.span)
        #expect(sent == .bytes(text.utf8.count))
    }

    @Test("nothing is reported while nothing can be read", arguments: PollerKind.allCases)
    func quiet(kind: PollerKind) throws {
        let pair = try UnixSocket.pair()
        let poller = try kind.make()
        try poller.add(pair.first.raw, token: 1, interest: .read)
        #expect(try ready(poller).isEmpty)
    }

    @Test("what arrived is reported with its token until it is read", arguments: PollerKind.allCases)
    func readable(kind: PollerKind) throws {
        let pair = try UnixSocket.pair()
        let poller = try kind.make()
        try poller.add(pair.first.raw, token: .max, interest: .read)
        send("hello", to: pair.second)
        for _ in 0..<2 {
            let told = try ready(poller)
            #expect(told.map(\.token) == [.max])
            #expect(told.first?.canRead == true)
            #expect(told.first?.canWrite == false)
        }
        let transfer = PipeCalls.read(pair.first.raw, upTo: 16).transfer
        #expect(transfer == .bytes(5))
        #expect(try ready(poller).isEmpty)
    }

    @Test("room to write is reported only on request", arguments: PollerKind.allCases)
    func writable(kind: PollerKind) throws {
        let pair = try UnixSocket.pair()
        let poller = try kind.make()
        try poller.add(pair.first.raw, token: 1, interest: .read)
        #expect(try ready(poller).isEmpty)
        try poller.change(pair.first.raw, token: 2, interest: [.read, .write])
        let told = try ready(poller)
        #expect(told.map(\.token) == [2])
        #expect(told.first?.canWrite == true)
        let chunk = [UInt8](repeating: 0, count: 65_536)
        while case .bytes = pair.first.write(chunk.span) {}
        #expect(try ready(poller).isEmpty)
    }

    @Test("a peer that is gone is reported even if nothing was requested", arguments: PollerKind.allCases)
    func gone(kind: PollerKind) throws {
        let pair = try UnixSocket.pair()
        let poller = try kind.make()
        let first = pair.first.raw
        try poller.add(first, token: 1, interest: [])
        try poller.add(pair.second.raw, token: 2, interest: [])
        #expect(try ready(poller).isEmpty)
        #expect(shutdown(pair.second.raw, Int32(SHUT_RDWR)) == 0)
        #expect(try ready(poller).allSatisfy(\.isGone))
        #expect(try ready(poller).map(\.token) == [1, 2])
    }

    @Test("nothing is reported of a peer whose end is known", arguments: PollerKind.allCases)
    func known(kind: PollerKind) throws {
        let pair = try UnixSocket.pair()
        let poller = try kind.make()
        try poller.add(pair.first.raw, token: 1, interest: .read)
        send("x", to: pair.second)
        #expect(shutdown(pair.second.raw, Int32(SHUT_RDWR)) == 0)
        #expect(try ready(poller).map(\.isGone) == [true])
        try poller.change(pair.first.raw, token: 1, interest: .known)
        #expect(try ready(poller).isEmpty)
        poller.remove(pair.first.raw)
    }

    @Test("after remove nothing is reported, and the place is free again", arguments: PollerKind.allCases)
    func remove(kind: PollerKind) throws {
        let pair = try UnixSocket.pair()
        let poller = try kind.make()
        try poller.add(pair.first.raw, token: 1, interest: .read)
        send("x", to: pair.second)
        poller.remove(pair.first.raw)
        poller.remove(pair.first.raw)
        #expect(try ready(poller).isEmpty)
        try poller.add(pair.first.raw, token: 3, interest: .read)
        #expect(try ready(poller).map(\.token) == [3])
    }

    @Test(
        "a descriptor can't be added twice, nor changed without being added", arguments: PollerKind.allCases
    )
    func misuse(kind: PollerKind) throws {
        let pair = try UnixSocket.pair()
        let poller = try kind.make()
        try poller.add(pair.first.raw, token: 1, interest: .read)
        let twice = #expect(throws: SystemError.self) {
            try poller.add(pair.first.raw, token: 2, interest: .read)
        }
        #expect(twice?.code == EEXIST)
        let absent = #expect(throws: SystemError.self) {
            try poller.change(pair.second.raw, token: 2, interest: .read)
        }
        #expect(absent?.code == ENOENT)
    }

    @Test("many descriptors keep their own tokens while others come and go", arguments: PollerKind.allCases)
    func many(kind: PollerKind) throws {
        let poller = try kind.make()
        var ends: [(near: Int32, far: Int32)] = []
        for _ in 0..<100 {
            let pair = try UnixSocket.pair()
            ends.append(Self.release(pair))
        }
        defer { for end in ends { [end.near, end.far].forEach(DescriptorCalls.close) } }
        for (token, end) in ends.enumerated() {
            try poller.add(end.near, token: UInt64(token), interest: .read)
        }
        for index in stride(from: 0, to: 100, by: 3) { poller.remove(ends[index].near) }
        let byte: [UInt8] = [1]
        for end in ends { _ = DescriptorCalls.send(end.far, byte.span) }
        #expect(try ready(poller).map(\.token) == (0..<100).filter { $0 % 3 != 0 }.map(UInt64.init))
    }

    @Test("a handler may remove others that are reported in the same turn", arguments: PollerKind.allCases)
    func removeInside(kind: PollerKind) throws {
        let poller = try kind.make()
        let one = try UnixSocket.pair()
        let two = try UnixSocket.pair()
        try poller.add(one.first.raw, token: 1, interest: .read)
        try poller.add(two.first.raw, token: 2, interest: .read)
        send("x", to: one.second)
        send("x", to: two.second)
        var told = 0
        try poller.wait(milliseconds: 0) { _ in
            told += 1
            poller.remove(one.first.raw)
            poller.remove(two.first.raw)
        }
        #expect((1...2).contains(told))
        #expect(try ready(poller).isEmpty)
    }

    @Test("a wait ends after its time", arguments: PollerKind.allCases)
    func timeout(kind: PollerKind) throws {
        let pair = try UnixSocket.pair()
        let poller = try kind.make()
        try poller.add(pair.first.raw, token: 1, interest: .read)
        let start = MonotonicClock.nanoseconds()
        #expect(try ready(poller, milliseconds: 20).isEmpty)
        #expect(MonotonicClock.nanoseconds() - start >= 19_000_000)
    }

    @Test("a wake-up from another thread ends a wait that has no end", arguments: PollerKind.allCases)
    func wakeup(kind: PollerKind) throws {
        let wakeup = try Wakeup()
        let poller = try kind.make()
        try poller.add(wakeup.raw, token: 7, interest: .read)
        try Background.start { wakeup.signal() }
        #expect(try ready(poller, milliseconds: -1).map(\.token) == [7])
    }

    @Test("many wake-ups count as one, and after draining there is none", arguments: PollerKind.allCases)
    func drained(kind: PollerKind) throws {
        let wakeup = try Wakeup()
        let poller = try kind.make()
        try poller.add(wakeup.raw, token: 7, interest: .read)
        // More than the pipe holds, because signalling must never wait.
        for _ in 0..<100_000 { wakeup.signal() }
        #expect(try ready(poller).count == 1)
        wakeup.drain()
        #expect(try ready(poller).isEmpty)
        wakeup.signal()
        #expect(try ready(poller).count == 1)
    }

    /// Copies of the numbers of both ends. The caller closes them.
    private static func release(_ pair: consuming UnixSocket.Pair) -> (near: Int32, far: Int32) {
        let copies = (fcntl(pair.first.raw, F_DUPFD_CLOEXEC, 0), fcntl(pair.second.raw, F_DUPFD_CLOEXEC, 0))
        return (near: copies.0, far: copies.1)
    }
}
