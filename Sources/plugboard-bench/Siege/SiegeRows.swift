// The rows of the siege, in the order in which they run. Each was a client that others noticed for seconds.
// An attacker prepares its bytes first, and repeats them until it is killed, so it costs little itself.

import PlugboardPosix

enum SiegeRows {
    static let all: [SiegeRow] = asking + observing + crowding + holding + leaving + keeping

    /// A user's default quota of waiting bytes.
    private static let owedBytes = 268_435_456

    /// What the keys that the bench publishes begin with.
    static let keyStart = "siege.shop.item.k"

    /// Requests that take long.
    private static let asking: [SiegeRow] = [
        SiegeRow(
            name: "subscribe-64-patterns",
            what: "one subscribe with 64 patterns that match nothing of 300,000 keys, again and again",
            keys: 300_000
        ) {
            let patterns = (0..<64).map { "\"*.*.*.nomatch\($0)\"" }.joined(separator: ",")
            let subscribe = "{\"op\":\"subscribe\",\"sub\":1,\"keys\":[\(patterns)]}\n"
            try $0.flood([$0.connect()], subscribe + "unsubscribe 1\n", answers: 3)
        },
        SiegeRow(name: "keys", what: "pipelined keys *.*.*.nomatch, 300,000 keys", keys: 300_000) {
            try $0.flood([$0.connect()], $0.lines(1000) { _ in "keys *.*.*.nomatch" })
        },
        SiegeRow(
            name: "snapshots",
            what: "eight connections that get snapshots of 300,000 keys, again and again",
            keys: 300_000
        ) { attacker in
            let links = try (0..<8).map { _ in try attacker.connect() }
            let answers = attacker.scale.count(300_000) + 3
            try attacker.flood(links, "subscribe siege.shop.**\nunsubscribe 1\n", answers: answers)
        },
        SiegeRow(name: "who", what: "who and explain of a key with 100,000 observers") { attacker in
            let observer = try attacker.connect()
            try attacker.subscribe(observer, 100_000) { _ in "\"key\":\"siege.who\"" }
            let link = try attacker.connect()
            try attacker.flood([link], "who siege.who\nexplain publish siege.who 1\n", answers: 2)
        },
    ]

    /// Observers that make each write dear.
    private static let observing: [SiegeRow] = [
        SiegeRow(
            name: "patterns",
            what: "another user: all that are allowed of 131,072 patterns with wildcards anywhere, 500 emits",
            isStranger: true
        ) { attacker in
            // Each bit of a pattern's number makes one of its tokens a wildcard.
            let link = try attacker.connect()
            try attacker.subscribe(link, 2048) { request in
                let patterns = (request * 64..<request * 64 + 64).map { number in
                    "\"" + (0..<17).map { number >> $0 & 1 == 1 ? "*." : "a." }.joined() + "b.z\""
                }
                return "\"keys\":[" + patterns.joined(separator: ",") + "]"
            }
            // No pattern matches, but only the last two tokens tell that: sometimes the one, sometimes the
            // other.
            let key = String(repeating: "a.", count: 17)
            let emits = attacker.lines(500) { "emit \(key)\($0 % 2 == 0 ? "c.z" : "b.y") 1" }
            try attacker.flood([link], emits, answers: 500)
        },
        SiegeRow(name: "traces", what: "20,000 traces of a key with 1,000 observers") { attacker in
            let (tracer, observer) = try (attacker.connect(), attacker.connect())
            let traces = Array(repeating: "trace siege.traced", count: attacker.scale.count(20_000))
            try attacker.ask(tracer, traces)
            try attacker.subscribe(observer, 1000) { _ in "\"key\":\"siege.traced\"" }
            let writes = attacker.lines(50) { "publish siege.traced \($0)" }
            try attacker.flood([attacker.connect()], writes, answers: 50, reading: [tracer, observer])
        },
        SiegeRow(name: "conditions", what: "2,000 subscriptions with 64 conditions each") { attacker in
            let observer = try attacker.connect()
            let conditions = (0..<63).map { "\"/a\($0)\":{\">=\":0}," }.joined()
            try attacker.subscribe(observer, 2000) {
                "\"key\":\"siege.where\",\"where\":{\(conditions)\"/z\":{\"==\":\($0)}}"
            }
            let members = (0..<63).map { "\"a\($0)\":\($0)," }.joined()
            let writes = attacker.lines(100) { _ in attacker.write("siege.where", "{\(members)\"z\":-1}") }
            try attacker.flood([attacker.connect()], writes, reading: [observer])
        },
        SiegeRow(
            name: "members",
            what: "writes of 1 MB with 150,000 members of one name, 10 observers with diff",
            waitMillisecondsMax: 20
        ) { attacker in
            let observer = try attacker.connect()
            let subscribe = "{\"op\":\"subscribe\",\"key\":\"siege.diff\",\"diff\":true,\"initial\":false}"
            try attacker.ask(observer, Array(repeating: subscribe, count: 10))
            let members = String(repeating: "\"a\":1,", count: attacker.scale.count(150_000))
            let writes = attacker.lines(2) { "publish siege.diff {\(members)\"b\":\($0)}" }
            try attacker.flood([attacker.connect()], writes, answers: 2, reading: [observer])
        },
        SiegeRow(name: "fan-out", what: "10,000 observers of a key, one write after the other") { attacker in
            let observers = try attacker.connect(10_000)
            let subscribe = "{\"op\":\"subscribe\",\"key\":\"siege.fan\",\"initial\":false}"
            for observer in observers { try attacker.ask(observer, [subscribe]) }
            try attacker.flood([attacker.connect()], "publish siege.fan 1\n", answers: 1, reading: observers)
        },
    ]

    /// Very many observers, each of which costs little.
    private static let crowding: [SiegeRow] = [
        SiegeRow(name: "one-key", what: "100,000 subscriptions of a client to one key, which another writes")
        {
            attacker in
            let observer = try attacker.connect()
            try attacker.subscribe(observer, 100_000) { _ in "\"key\":\"siege.one\"" }
            let writes = attacker.lines(10) { "publish siege.one \($0)" }
            try attacker.flood([attacker.connect()], writes, answers: 10, reading: [observer])
        },
        SiegeRow(
            name: "condition-bursts",
            what: "20,000 subscriptions with 64 conditions each, made in one burst, again and again"
        ) { attacker in
            let conditions = (0..<63).map { "\"/a\($0)\":{\">=\":0}," }.joined()
            let count = attacker.scale.count(20_000)
            let burst = attacker.lines(count) {
                let wanted = "\"where\":{\(conditions)\"/z\":{\"==\":\($0)}}"
                return
                    "{\"op\":\"subscribe\",\"sub\":\($0 + 1),\"key\":\"siege.where\",\"initial\":false,\(wanted)}"
            }
            let end = attacker.lines(count) { "unsubscribe \($0 + 1)" }
            try attacker.flood([attacker.connect()], burst + end, answers: 2 * count)
        },
        SiegeRow(
            name: "trickles",
            what: "4,000 connections that read 64 bytes at a time of all that is written to 5,000 keys",
            growthBytesMax: owedBytes
        ) { attacker in
            let readers = try attacker.connect(4000)
            let subscribe = "{\"op\":\"subscribe\",\"key\":\"siege.trickle.**\",\"initial\":false}"
            for reader in readers { try attacker.ask(reader, [subscribe]) }
            let writes = attacker.lines(5000) { attacker.write("siege.trickle.k\($0)", "1") }
            try attacker.flood([attacker.connect()], writes, reading: readers, inputBytes: 64)
        },
        SiegeRow(
            name: "interests",
            what:
                "4,000 paused subscriptions, each to other keys and all to everything, and writes of 1,000 keys",
            growthBytesMax: owedBytes
        ) { attacker in
            let observer = try attacker.connect()
            try attacker.subscribe(observer, 4000) {
                "\"sub\":\($0 + 1),\"keys\":[\"siege.**\",\"other.k\($0)\"]"
            }
            try attacker.ask(observer, (1...attacker.scale.count(4000)).map { "pause \($0)" })
            let writes = attacker.lines(1000) { attacker.write("siege.interests.k\($0)", "1") }
            try attacker.flood([attacker.connect()], writes, reading: [observer])
        },
        SiegeRow(
            name: "pauses",
            what: "short pauses of 1,000 subscriptions to everything, again and again, and writes"
        ) { attacker in
            let observer = try attacker.connect()
            try attacker.subscribe(observer, 1000) { "\"sub\":\($0 + 1),\"key\":\"siege.**\"" }
            let count = attacker.scale.count(1000)
            let turns = attacker.lines(count) {
                "pause \($0 + 1)\npublish siege.pauses.k\($0) 1\nresume \($0 + 1)"
            }
            try attacker.flood([observer], turns)
        },
    ]

    /// Clients for which the broker has to keep much.
    private static let holding: [SiegeRow] = [
        SiegeRow(
            name: "paused",
            what: "4,000 paused subscriptions to everything, and writes of 10,000 keys",
            growthBytesMax: owedBytes,
            givesBack: true
        ) { attacker in
            let observer = try attacker.connect()
            try attacker.subscribe(observer, 4000) { "\"sub\":\($0 + 1),\"key\":\"**\"" }
            try attacker.ask(observer, (1...attacker.scale.count(4000)).map { "pause \($0)" })
            let writes = attacker.lines(10_000) { attacker.write("siege.paused.k\($0)", "1") }
            try attacker.flood([attacker.connect()], writes, reading: [observer])
        },
        SiegeRow(
            name: "stopped",
            what: "500 observers with all that don't read, values of 1 MB",
            waitMillisecondsMax: 20,
            growthBytesMax: owedBytes
        ) { attacker in
            let observers = try attacker.connect(500)
            let subscribe =
                "{\"op\":\"subscribe\",\"key\":\"siege.all\",\"initial\":false,\"delivery\":\"all\"}"
            for observer in observers { try attacker.ask(observer, [subscribe]) }
            let text = String(repeating: "x", count: attacker.scale.count(1_000_000))
            try withExtendedLifetime(observers) {
                try attacker.flood([attacker.connect()], attacker.write("siege.all", "\"\(text)\"") + "\n")
            }
        },
        SiegeRow(
            name: "half-lines",
            what: "another user: 1,024 connections with half a line of 1 MB each",
            growthBytesMax: 67_108_864,
            givesBack: true,
            isStranger: true
        ) { attacker in
            let piece = [UInt8](repeating: UInt8(ascii: "x"), count: attacker.scale.count(62_500))
            // The broker may refuse some of them. They grow in turn, so their memory lies scattered.
            var links = try attacker.connect(1024)
            for _ in 0..<16 { links = links.filter { (try? $0.send(piece)) != nil } }
            attacker.hold(links)
        },
        SiegeRow(name: "bytes", what: "5,000 connections of a byte at a time", waitMillisecondsMax: 20) {
            attacker in
            let links = try attacker.connect(5000)
            attacker.tellReady()
            // It doesn't yield to others: only who is as fast as the broker keeps all connections ready.
            let line = Array((attacker.write("siege.byte", "1") + "\n").utf8)
            while true { for byte in line { for link in links { try link.send([byte]) } } }
        },
    ]

    /// Much that goes to disk.
    private static let keeping: [SiegeRow] = [
        SiegeRow(
            name: "journal",
            what: "a publisher at full rate for 30 s over 300,000 keys",
            length: 10,
            needsJournal: true,
            keys: 300_000,
            attack: publishAll
        ),
        SiegeRow(
            name: "slow-disk",
            what: "the same for 3 s, where each sync of the disk takes 300 ms",
            syncMilliseconds: 300,
            needsJournal: true,
            keys: 300_000,
            attack: publishAll
        ),
    ]

    private static let publishAll: @Sendable (Attacker) throws -> Void = { attacker in
        let value = "\"" + String(repeating: "x", count: 126) + "\""
        let writes = attacker.lines(attacker.scale.count(300_000)) {
            attacker.write("\(keyStart)\($0)", value)
        }
        try attacker.flood([attacker.connect()], writes)
    }

    /// Much that ends at one moment.
    private static let leaving: [SiegeRow] = [
        SiegeRow(
            name: "leave-keys", what: "the writer of 1,000,000 keys with while is killed", lasts: false
        ) {
            let link = try $0.connect()
            try $0.publish(link, 1_000_000, "siege.leave.k", #","while":"connected""#)
            $0.hold([link])
        },
        SiegeRow(name: "expire-keys", what: "1,000,000 keys with ttl end at one moment") { attacker in
            let link = try attacker.connect()
            let end = TimeLimit(seconds: attacker.scale.setUpSeconds * 0.8)
            try attacker.publish(link, 1_000_000, "siege.expire.k", #","ttl":\#(end.milliseconds ?? 1)"#)
            while !end.isOver { Pause.sleep(seconds: 0.01) }
            attacker.hold([link])
        },
        SiegeRow(
            name: "leave-subscriptions", what: "a client with 131,072 subscriptions is killed", lasts: false
        ) {
            let link = try $0.connect()
            try $0.subscribe(link, 131_072) { "\"key\":\"siege.leave.k\($0)\"" }
            $0.hold([link])
        },
    ]
}
