import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

/// What is visible only in a broker that is a process of its own: its memory, its descriptors and its
/// processor time.
@Suite("A broker's own process", .someAtATime, .serialized)
struct BrokerProcessTests {
    @Test("a line without an end is dropped as it arrives, and memory stays flat")
    func endlessLine() throws {
        let folder = try TemporaryFolder()
        let broker = try startBroker(in: folder)
        let peer = try LinePeer(path: folder.socket)
        _ = try peer.text()
        let piece = [UInt8](repeating: UInt8(ascii: "["), count: 1 << 20)
        for _ in 0..<4 { try peer.send(piece) }
        #expect(try peer.text().hasPrefix(#"{"error":"too_long""#))
        let before = try residentBytes(of: broker.pid)
        for _ in 0..<200 { try peer.send(piece) }
        #expect(try residentBytes(of: broker.pid) - before < 4 << 20)
        try peer.send(Array("\nsync\n".utf8))
        #expect(try peer.text() == #"{"ok":"sync","revision":0}"#)
        broker.signal(SIGTERM)
        #expect(try broker.finished().end == .exited(0))
    }

    @Test("without free descriptors, clients are still served, and others can connect later")
    func descriptors() throws {
        let folder = try TemporaryFolder()
        let script = try folder.script("few.sh", #"ulimit -n 64; exec "$@""#)
        let broker = try Run(
            program: script, [Products.plugboard, "broker", "--ready", "--socket", folder.socket], in: folder
        )
        try eventually("the broker listens") { broker.output == "ready\n" }
        let served = try LinePeer(path: folder.socket)
        _ = try served.text()
        var waiting = try (0..<200).map { _ in try LinePeer(path: folder.socket) }
        let rounds = LongSuite.count(500, quick: 100)
        let before = try processorTicks(of: broker.pid)
        for value in 0..<rounds {
            try served.send(Array("publish k \(value)\n".utf8))
            #expect(try served.text() == #"{"ok":"publish","revision":\#(value + 1)}"#)
            Pause.sleep(seconds: 0.01)
        }
        // Each round takes a hundredth of a second, and so does a tick. A loop that spins would use all
        // ticks.
        let share = (try processorTicks(of: broker.pid) - before) * 100 / rounds
        #expect(share < LongSuite.count(5, quick: 30))
        LongSuite.print("64 descriptors, 200 clients: \(share) % of a processor, who was served is served")
        try served.send(Array("get $broker.warnings\n".utf8))
        #expect(try served.text().contains(#""kind":"descriptors","times":1,"#))
        waiting.removeFirst(180)
        for peer in waiting { #expect(try peer.text().hasPrefix(#"{"event":"hello""#)) }
        broker.signal(SIGTERM)
        let finished = try broker.finished()
        #expect(finished.end == .exited(0))
        #expect(finished.messages.split(separator: "\n").count { $0.contains("new clients wait") } == 1)
    }

    @Test("a low limit on open files is raised as far as the system allows")
    func raisedLimit() throws {
        let folder = try TemporaryFolder()
        let script = try folder.script("few.sh", #"ulimit -Sn 64; ulimit -Hn 1024; exec "$@""#)
        let broker = try Run(
            program: script, [Products.plugboard, "broker", "--ready", "--socket", folder.socket], in: folder
        )
        try eventually("the broker listens") { broker.output == "ready\n" }
        let peers = try (0..<200).map { _ in try LinePeer(path: folder.socket) }
        for peer in peers { #expect(try peer.text().hasPrefix(#"{"event":"hello""#)) }
    }

    private func residentBytes(of pid: Int32) throws -> Int {
        let fields = try field("/proc/\(pid)/statm").split(separator: " ")
        return (Int(fields[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    private func processorTicks(of pid: Int32) throws -> Int {
        let fields = try field("/proc/\(pid)/stat").split(separator: " ")
        return (Int(fields[13]) ?? 0) + (Int(fields[14]) ?? 0)
    }

    private func field(_ path: String) throws -> String {
        String(decoding: try InputFile.contents(path: path, limit: 1 << 20), as: UTF8.self)
    }
}

extension BrokerProcessTests {
    @Test(
        "the system's table of descriptors is large from the start: to grow, it keeps the loop waiting",
        .enabled(if: FileStatus(path: "/proc/self/status").kind == .file)
    )
    func descriptorTable() throws {
        let folder = try TemporaryFolder()
        let broker = try startBroker(in: folder)
        let path = "/proc/\(broker.pid)/status"
        let status = String(decoding: try InputFile.contents(path: path, limit: 1 << 16), as: UTF8.self)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("FDSize:") })
        let size = try #require(line.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) })
        #expect(size >= min(OpenFiles.raiseLimit(), Limits.clientsMax))
        broker.signal(SIGTERM)
        #expect(try broker.finished().end == .exited(0))
    }
}

/// Takes most of the descriptors that this process may have.
@Suite("The largest number of clients", .oneAtATime)
struct ClientLimitTests {
    @Test("as many clients as the limit are served, and one more is told why it isn't")
    func clientLimit() throws {
        let folder = try TemporaryFolder()
        let broker = try startBroker(in: folder)
        var peers: [LinePeer] = []
        for _ in 0..<Limits.clientsMax {
            let peer = try LinePeer(path: folder.socket)
            #expect(try peer.text().hasPrefix(#"{"event":"hello""#))
            peers.append(peer)
        }
        let excess = try LinePeer(path: folder.socket)
        #expect(try excess.text().hasPrefix(#"{"event":"bye","reason":"clients","#))
        try peers[0].send(Array("sync\n".utf8))
        #expect(try peers[0].text() == #"{"ok":"sync","revision":0}"#)
        peers.removeLast()
        try eventually("a place is free again") {
            try LinePeer(path: folder.socket).text().hasPrefix(#"{"event":"hello""#)
        }
        broker.signal(SIGTERM)
        let finished = try broker.finished()
        #expect(finished.end == .exited(0), "\(finished.messages)")
    }
}
