// Clients that come, go, stop reading and come back at random, before a broker that checks its whole state about
// once a second and stops at the first thing that doesn't hold. Only a debug build does that, so `.ci/long` makes
// one for this suite.

import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("restless clients", .someAtATime, .serialized)
struct RestlessClientsTests {
    /// A debug build of the command. In the long suite it is not the one beside the tests.
    private static let checked = SocketPath.variable("PLUGBOARD_DEBUG_BUILD") ?? Products.plugboard

    private static let policy = """
        {"rules": [{"allow": {"everything": ["**"]}},
                   {"plugin": "ada", "deny": {"subscribe": ["k.1.**"]}},
                   {"plugin": "bob", "deny": {"subscribe": ["k.2.**", "k.3.*"]}}]}
        """

    @Test(
        "clients that join, leave, stop reading and reconnect at random break nothing in a debug build",
        .timeLimit(.minutes(20)),
        arguments: [["--memory"], []]
    )
    func restless(options: [String]) throws {
        let folder = try TemporaryFolder()
        let policy = try folder.write("policy.json", Self.policy)
        let broker = try Run(
            program: Self.checked,
            ["broker", "--ready", "--socket", folder.socket, "--policy", policy] + options,
            in: folder
        )
        try eventually("the broker listens") { broker.output == "ready\n" }
        let writer = try LinePeer(path: folder.socket)
        _ = try writer.text()
        var random = SeededRandom(seed: 43)
        var clients = (0..<10).map { _ in RestlessClient() }
        let limit = TimeLimit(seconds: LongSuite.isOn ? 60 : 2)
        var writes = 0
        while !limit.isOver, broker.isRunning {
            for place in clients.indices { clients[place].step(folder.socket, &random) }
            // One write at a time, so that the broker has as much to do as it can.
            let write = RestlessClient.write(&random)
            guard (try? writer.send("\(write)\n")) != nil, (try? writer.text()) != nil else { break }
            writes += 1
        }
        clients = []
        try? writer.send("sync\n")
        #expect((try? writer.text()) != nil, "\(broker.messages.prefix(1_000))")
        broker.signal(SIGTERM)
        let finished = try broker.finished()
        #expect(finished.end == .exited(0), "\(finished.messages.prefix(1_000))")
        let kind = options.first ?? "with a journal"
        LongSuite.print("\(writes) writes to restless clients, \(kind): nothing broke")
    }
}

/// One client, which does something else at each step.
private struct RestlessClient {
    private var peer: LinePeer?
    /// What the socket hasn't taken yet. It takes nothing while the broker waits for the client to read.
    private var unsent: [UInt8] = []
    /// For so many steps it is away, or reads nothing.
    private var rest = 0
    private var known = 0

    mutating func step(_ path: String, _ random: inout SeededRandom) {
        rest -= 1
        guard let peer else { return rest > 0 ? () : join(path, &random) }
        if !unsent.isEmpty { unsent.removeFirst(min(unsent.count, peer.sendSome(unsent))) }
        if rest > 0 { return }
        if rest == 0, random.oneIn(2) { return leave(&random) }
        read(peer)
        switch random.below(100) {
        case 0..<5: rest = random.below(40) + 2
        case 5..<10: ask(subscribe(&random))
        case 10: ask("hello \(["ada", "bob", "carl"][random.below(3)])")
        case 11: ask("\(["pause", "resume", "unsubscribe", "step"][random.below(4)]) \(random.below(20) + 1)")
        case 12: ask("sync")
        case 13: ask("goodbye")
        case 14: leave(&random)
        default: break
        }
    }

    private mutating func join(_ path: String, _ random: inout SeededRandom) {
        peer = try? LinePeer(path: path)
        unsent = []
        for _ in 0..<random.below(150) { ask(subscribe(&random)) }
    }

    private mutating func leave(_ random: inout SeededRandom) {
        peer = nil
        rest = random.below(20)
    }

    private mutating func read(_ peer: LinePeer) {
        let lines = peer.available()
        guard let last = lines.last(where: { $0.contains(#","revision":"#) }),
            let number = last.split(separator: #","revision":"#).last?.prefix(while: \.isNumber)
        else { return }
        known = Int(number) ?? known
    }

    private mutating func ask(_ line: String) {
        unsent += Array("\(line)\n".utf8)
    }

    private static func key(_ random: inout SeededRandom) -> String {
        "k.\(random.below(4)).\(random.below(8))"
    }

    private func subscribe(_ random: inout SeededRandom) -> String {
        let patterns = ["k.**", "k.**", "k.*.*", "k.1.*", "k.*.2", Self.key(&random)]
        let options = [
            "", "", "", #","every":50"#, #","delivery":"all""#, #","phase":7"#, #","phase":2,"ack":true"#,
            #","where":{"/n":{">":5}}"#, #","diff":true"#, #","fields":["/n"]"#, #","old":true"#,
            #","since":\#(known)"#, #","initial":false"#,
        ]
        let pattern = patterns[random.below(patterns.count)]
        return #"{"op":"subscribe","key":"\#(pattern)"\#(options[random.below(options.count)])}"#
    }

    /// A line that is answered.
    static func write(_ random: inout SeededRandom) -> String {
        let (key, number) = (key(&random), random.below(10))
        let padding = String(repeating: "x", count: random.below(4_000))
        let value = #"{"n":\#(number),"text":"\#(padding)"}"#
        return switch random.below(8) {
        case 0: "emit \(key) \(value)"
        case 1: "delete \(key)"
        case 2: #"{"op":"publish","id":1,"key":"\#(key)","value":\#(value),"ttl":\#(random.below(400) + 1)}"#
        case 3: #"{"op":"publish","id":1,"key":"\#(key)","value":\#(value),"while":"connected"}"#
        default: "publish \(key) \(value)"
        }
    }
}
