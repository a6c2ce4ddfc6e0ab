import PlugboardMemory
import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard_bench

/// What each server gets, byte for byte, and what counts as an answer.
@Suite("Dialects", .someAtATime)
struct DialectTests {
    private static let plain = Workload("test").with { $0.valueBytes = 16 }
    private static let key = Names.key(1, of: plain)
    private static let broker = PlugboardDialect(programs: Products.programs)

    private func written(_ dialect: any Dialect, endsBatch: Bool = false, isAcknowledged: Bool = false)
        -> [UInt8]
    {
        var bytes: [UInt8] = []
        let message = Message(
            key: Self.key,
            value: Array("{\"n\":1}".utf8),
            number: 4,
            wantsReply: endsBatch || isAcknowledged,
            isAcknowledged: isAcknowledged
        )
        dialect.appendWrite(message, to: &bytes)
        return bytes
    }

    private func batchEnd(_ dialect: any Dialect) -> String {
        var bytes: [UInt8] = []
        dialect.appendBatchEnd(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    // MARK: plugboard and the limit

    @Test("plugboard: a publish has an id if a reply is wanted")
    func plugboard() {
        let dialect = Self.broker
        #expect(
            text(written(dialect)) == "{\"op\":\"publish\",\"key\":\"bench.k000001\",\"value\":{\"n\":1}}\n"
        )
        let answered = "{\"op\":\"publish\",\"id\":5,\"key\":\"bench.k000001\",\"value\":{\"n\":1}}\n"
        #expect(text(written(dialect, endsBatch: true)) == answered)
        #expect(text(written(dialect, isAcknowledged: true)) == answered)
        #expect(batchEnd(dialect) == "")
    }

    @Test(
        "plugboard: a subscription asks for what the workload says",
        arguments: [
            ("", ""), (#""values":false"#, ",\"values\":false"), (#""diff":true"#, ",\"diff\":true"),
        ]
    )
    func plugboardSubscribe(members: String, options: String) throws {
        let conversation = try Conversation(answers: "{\"ok\":\"subscribe\"}\n")
        let workload = Self.plain.with { $0.subscribing = members }
        try Self.broker.observe(conversation.link, workload, answering: false)
        let expected = "{\"op\":\"subscribe\",\"key\":\"bench.k000000\",\"initial\":false\(options)}\n"
        #expect(try conversation.said(expected))
    }

    @Test("plugboard: a durable write says so, and its broker has a journal in its own folder")
    func plugboardDurable() {
        let dialect = Self.broker
        let workload = Self.plain.with {
            $0.keeping = .durable
            $0.isAcknowledged = true
            $0.batch = 1
        }
        let script = Script(workload, publisher: 0, dialect: dialect)
        let line = Array(script.batch(0))
        #expect(
            text(line).hasPrefix(#"{"op":"publish","id":1,"durable":true,"key":"bench.k000000","value":"#)
        )
        #expect(dialect.plan(folder: "/f", for: workload).arguments.contains("/f/state"))
        #expect(dialect.plan(folder: "/f", for: Self.plain).arguments.contains("--memory"))
        // The same row without a journal, for comparison, has no `durable`.
        let without = PlugboardDialect(programs: Products.programs, isPlain: true)
        let journalled = workload.with { $0.keeping = .journal }
        #expect(without.plan(folder: "/f", for: journalled).arguments.contains("--memory"))
    }

    @Test(
        "plugboard: the row beside one with an option has a journal, too; beside one without an option it has none"
    )
    func plugboardPlain() {
        let without = PlugboardDialect(programs: Products.programs, isPlain: true)
        let option = Self.plain.with { $0.writing = #""ttl":5"# }.asUsual
        #expect(without.supports(option) && without.workload(option) == Self.plain.asUsual)
        #expect(without.supports(Self.plain.asUsual) && without.workload(Self.plain.asUsual) == Self.plain)
        #expect(!without.supports(Self.plain))
    }

    @Test("plugboard: a write has the options that its row is about")
    func plugboardWrites() {
        var bytes: [UInt8] = []
        var message = Message(
            key: "a",
            value: Array("1".utf8),
            number: 0,
            wantsReply: true,
            isAcknowledged: false,
            members: #""ttl":5"#
        )
        Self.broker.appendWrite(message, to: &bytes)
        message.members = ""
        message.operation = .call
        Self.broker.appendWrite(message, to: &bytes)
        #expect(
            text(bytes) == """
                {"op":"publish","id":1,"ttl":5,"key":"a","value":1}
                {"op":"call","id":1,"key":"a","value":1}

                """
        )
    }

    @Test(
        "plugboard: updates are acknowledged, calls are returned, everything else gets no answer",
        arguments: [
            (
                #"{"event":"update","sub":1,"key":"a","revision":7,"value":1,"by":"till"}"#,
                #"{"op":"ack","sub":1,"revision":7}"# + "\n"
            ),
            (
                #"{"event":"call","call":"12","key":"a","value":1,"by":"till"}"#,
                #"{"op":"return","call":"12","value":true}"# + "\n"
            ),
            (#"{"ok":"ack","revision":7}"#, nil), ("{\"event\":\"update\",", nil), ("", nil),
        ]
    )
    func plugboardAnswers(line: String, answer: String?) {
        #expect(
            Self.broker.answer(to: Array(line.utf8)[...]).map { text($0) }
                == answer
        )
    }

    @Test("plugboard: a refused subscription ends the bench")
    func plugboardRefused() throws {
        let conversation = try Conversation(answers: "{\"error\":\"bad_key\"}\n")
        #expect(throws: BenchError.self) {
            try Self.broker.observe(conversation.link, Self.plain, answering: false)
        }
    }

    @Test("the limit: the first line tells the role of a connection")
    func limit() throws {
        let dialect = LimitDialect(programs: Products.programs)
        let batchBytes = written(dialect).count - 7 + 16
        for (role, line) in [
            (LinkRole.observer, "O\n"), (.resting, "R\n"), (.publisher(0), "P \(batchBytes * 64 + 8)\n"),
        ] {
            let conversation = try Conversation(answers: "\n")
            try dialect.open(conversation.link, workload: Self.plain, as: role)
            // The last request of a batch has an id of two digits: `"id":64,`.
            #expect(try conversation.said(line))
        }
    }

    @Test(
        "the limit: a first line is understood",
        arguments: [
            ("O\n", LimitPeer.Role.observer), ("R\n", .resting), ("P 1234\n", .publisher(batchBytes: 1234)),
            ("P 0\n", .publisher(batchBytes: 0)), ("P\n", .publisher(batchBytes: 0)),
        ]
    )
    func limitRoles(line: String, role: LimitPeer.Role) {
        let line = Array(line.utf8)
        #expect(LimitPeer.Role(line: line.span) == role)
    }

    // MARK: redis

    @Test("redis: SET and PUBLISH, or PUBLISH alone")
    func redis() {
        let set = "*3\r\n$3\r\nSET\r\n$13\r\nbench.k000001\r\n$7\r\n{\"n\":1}\r\n"
        let publish = "*3\r\n$7\r\nPUBLISH\r\n$13\r\nbench.k000001\r\n$7\r\n{\"n\":1}\r\n"
        #expect(text(written(RedisDialect(work: .keepAndTell))) == set + publish)
        #expect(text(written(RedisDialect(work: .tell))) == publish)
    }

    @Test("redis: a batch ends with the one reply that a silent publisher requests")
    func redisEnd() {
        let on = "*3\r\n$6\r\nCLIENT\r\n$5\r\nREPLY\r\n$2\r\nON\r\n"
        let off = "*3\r\n$6\r\nCLIENT\r\n$5\r\nREPLY\r\n$3\r\nOFF\r\n"
        #expect(batchEnd(RedisDialect(work: .tell)) == on + off)
        #expect(RedisDialect(work: .tell).batchMark(Self.plain) == .lines(1))
    }

    @Test("redis: a publisher greets, and turns replies off unless every write is answered")
    func redisOpen() throws {
        let dialect = RedisDialect(work: .keepAndTell)
        let silenced = try Conversation(answers: "+PONG\r\n")
        try dialect.open(silenced.link, workload: Self.plain, as: .publisher(0))
        let off = "*3\r\n$6\r\nCLIENT\r\n$5\r\nREPLY\r\n$3\r\nOFF\r\n"
        #expect(try silenced.said("*1\r\n$4\r\nPING\r\n" + off))
        let heard = try Conversation(answers: "+PONG\r\n")
        try dialect.open(
            heard.link, workload: Self.plain.with { $0.isAcknowledged = true }, as: .publisher(0)
        )
        #expect(try heard.said("*1\r\n$4\r\nPING\r\n"))
        #expect(dialect.batchMark(Self.plain.with { $0.isAcknowledged = true }) == .lines(128))
    }

    @Test("redis: keys are subscribed to by name, patterns as patterns")
    func redisSubscribe() throws {
        let six = "*3\r\n$9\r\nsubscribe\r\n$13\r\nbench.k000000\r\n:1\r\n"
        let keys = try Conversation(answers: six)
        try RedisDialect(work: .tell).observe(keys.link, Self.plain, answering: false)
        #expect(try keys.said("*2\r\n$9\r\nSUBSCRIBE\r\n$13\r\nbench.k000000\r\n"))
        let patterns = try Conversation(answers: six)
        let one = Self.plain.with { $0.interest = .patterns(1, matching: 1) }
        try RedisDialect(work: .tell).observe(patterns.link, one, answering: false)
        #expect(try patterns.said("*2\r\n$10\r\nPSUBSCRIBE\r\n$17\r\napp0.item.state.*\r\n"))
    }

    @Test("redis: a delivery has seven lines, or nine for a pattern")
    func redisDelivery() {
        let dialect = RedisDialect(work: .tell)
        let message = "*3\r\n$7\r\nmessage\r\n$1\r\nk\r\n$1\r\nv\r\n"
        #expect(dialect.deliveryMark(Self.plain) == .lines(message.utf8.count { $0 == 0x0A }))
        let pattern = "*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\nk\r\n$1\r\nv\r\n"
        let workload = Self.plain.with { $0.interest = .patterns(1, matching: 1) }
        #expect(dialect.deliveryMark(workload) == .lines(pattern.utf8.count { $0 == 0x0A }))
    }

    @Test(
        "redis: durable writes are synced before they are answered, others once a second, or are only in memory"
    )
    func redisDurable() throws {
        let dialect = RedisDialect(work: .keepAndTell)
        let durable = Self.plain.with { $0.keeping = .durable }
        #expect(dialect.supports(durable) && !RedisDialect(work: .tell).supports(durable))
        let journalled = Self.plain.asUsual
        #expect(dialect.supports(journalled) && !RedisDialect(work: .tell).supports(journalled))
        let usual = dialect.plan(folder: "/f", for: journalled).arguments.joined(separator: " ")
        #expect(usual.contains("--appendonly yes --appendfsync everysec"))
        let plan = dialect.plan(folder: "/f", for: durable)
        #expect(plan.arguments.joined(separator: " ").contains("--appendonly yes --appendfsync always"))
        let inMemory = dialect.plan(folder: "/f", for: Self.plain).arguments
        #expect(inMemory.joined(separator: " ").contains("--appendonly no"))
    }

    // MARK: nats

    @Test("nats: a write has the bucket's key, with an inbox if it is answered, or a plain subject")
    func nats() {
        let bucket = NATSDialect(work: .keepAndTell)
        #expect(text(written(bucket)) == "PUB $KV.bench.bench.k000001 7\r\n{\"n\":1}\r\n")
        #expect(
            text(written(bucket, endsBatch: true))
                == "PUB $KV.bench.bench.k000001 _INBOX.bench0 7\r\n{\"n\":1}\r\n"
        )
        #expect(batchEnd(bucket) == "")
        let plain = NATSDialect(work: .tell)
        #expect(text(written(plain, endsBatch: true)) == "PUB bench.k000001 7\r\n{\"n\":1}\r\n")
        #expect(batchEnd(plain) == "PING\r\n")
    }

    @Test("nats: greets, and a publisher of a bucket subscribes to its inbox")
    func natsOpen() throws {
        let greeting = "CONNECT {\"verbose\":false,\"pedantic\":false,\"protocol\":1}\r\nPING\r\n"
        for (work, role, rest) in [
            (PeerWork.tell, LinkRole.publisher(7), ""), (.keepAndTell, .observer, ""),
            (.keepAndTell, .publisher(7), "SUB _INBOX.bench7 1\r\n"),
        ] {
            let conversation = try Conversation(
                greeting: "INFO {}\r\n", .init(after: "PING\r\n", answer: "PONG\r\n")
            )
            try NATSDialect(work: work).open(conversation.link, workload: Self.plain, as: role)
            #expect(try conversation.said(greeting + rest))
        }
    }

    @Test("nats: a server with an unexpected answer is not measured")
    func natsRefusing() throws {
        let conversation = try Conversation(
            greeting: "INFO {}\r\n", .init(after: "PING\r\n", answer: "-ERR 'Authorization Violation'\r\n")
        )
        #expect(throws: BenchError.unexpected("-ERR 'Authorization Violation'\r\n")) {
            try NATSDialect(work: .tell).firstReply(conversation.link)
        }
    }

    @Test("nats: observers subscribe to subjects, each with its own number")
    func natsSubscribe() throws {
        let conversation = try Conversation(answers: "PONG\r\n")
        let workload = Self.plain.with { $0.keys = 2 }
        try NATSDialect(work: .keepAndTell).observe(conversation.link, workload, answering: false)
        let first = "SUB $KV.bench.bench.k000000 1\r\n"
        #expect(try conversation.said(first + "SUB $KV.bench.bench.k000001 2\r\nPING\r\n"))
    }

    @Test("nats: a batch is answered by two lines for a bucket, or by a PONG")
    func natsMarks() {
        let bucket = NATSDialect(work: .keepAndTell)
        #expect(bucket.batchMark(Self.plain) == .lines(2))
        #expect(bucket.batchMark(Self.plain.with { $0.isAcknowledged = true }) == .lines(128))
        #expect(NATSDialect(work: .tell).batchMark(Self.plain) == .lines(1))
        #expect(bucket.deliveryMark(Self.plain) == .lines(2))
    }

    // MARK: mosquitto

    @Test("mosquitto: a message is retained or plain, with quality 1 if each is answered")
    func mosquitto() {
        let body = [0, 13] + Array("bench/k000001".utf8)
        let value = Array("{\"n\":1}".utf8)
        #expect(written(MosquittoDialect(work: .keepAndTell)) == [0x31, 22] + body + value)
        #expect(written(MosquittoDialect(work: .tell)) == [0x30, 22] + body + value)
        let acknowledged = written(MosquittoDialect(work: .tell), isAcknowledged: true)
        #expect(acknowledged == [0x32, 24] + body + [0, 5] + value)
    }

    @Test(
        "mosquitto: lengths above 127 take two bytes, above 16,383 three",
        arguments: [112, 113, 16_368, 16_369]
    )
    func mosquittoLengths(valueBytes: Int) {
        var bytes: [UInt8] = []
        let message = Message(
            key: Self.key,
            value: [UInt8](repeating: 0x20, count: valueBytes),
            number: 0,
            wantsReply: false,
            isAcknowledged: false
        )
        MosquittoDialect(work: .tell).appendWrite(message, to: &bytes)
        let lengths: [Int: [UInt8]] = [
            112: [0x7F], 113: [0x80, 0x01], 16_368: [0xFF, 0x7F], 16_369: [0x80, 0x80, 0x01],
        ]
        let length = lengths[valueBytes] ?? []
        #expect(Array(bytes[1..<(1 + length.count)]) == length)
        #expect(bytes.count == 1 + length.count + 15 + valueBytes)
        let mark = MosquittoDialect(work: .tell).deliveryMark(Self.plain.with { $0.valueBytes = valueBytes })
        #expect(mark == .bytes(bytes.count))
    }

    @Test("mosquitto: it connects with a clean session, and accepts only an accepted connection")
    func mosquittoConnect() throws {
        let accepted = try Conversation(answers: [0x20, 2, 0, 0])
        try MosquittoDialect(work: .tell).firstReply(accepted.link)
        let connect: [UInt8] = [0x10, 12, 0, 4] + Array("MQTT".utf8) + [4, 2, 0, 0, 0, 0]
        #expect(try accepted.said(connect))
        let refused = try Conversation(answers: [0x20, 2, 0, 5])
        #expect(throws: BenchError.self) { try MosquittoDialect(work: .tell).firstReply(refused.link) }
    }

    @Test("mosquitto: subscribes with quality 0, and a refused topic ends the bench")
    func mosquittoSubscribe() throws {
        let granted = try Conversation(answers: [0x90, 3, 0, 1, 0])
        try MosquittoDialect(work: .tell).observe(granted.link, Self.plain, answering: false)
        let topic = [0, 13] + Array("bench/k000000".utf8)
        #expect(try granted.said([0x82, 18, 0, 1] + topic + [0]))
        let pattern = try Conversation(answers: [0x90, 3, 0, 1, 0])
        try MosquittoDialect(work: .tell).subscribe(pattern.link, to: ["a.*.b"], Self.plain)
        #expect(try pattern.said([0x82, 10, 0, 1, 0, 5] + Array("a/+/b".utf8) + [0]))
        let refused = try Conversation(answers: [0x90, 3, 0, 1, 0x80])
        #expect(throws: BenchError.self) {
            try MosquittoDialect(work: .tell).observe(refused.link, Self.plain, answering: false)
        }
    }

    @Test("mosquitto: a batch ends with a ping; answered writes with four bytes each")
    func mosquittoMarks() {
        var bytes: [UInt8] = []
        MosquittoDialect(work: .tell).appendBatchEnd(to: &bytes)
        #expect(bytes == [0xC0, 0])
        #expect(MosquittoDialect(work: .tell).batchMark(Self.plain) == .bytes(2))
        let acknowledged = Self.plain.with { $0.isAcknowledged = true }
        #expect(MosquittoDialect(work: .tell).batchMark(acknowledged) == .bytes(256))
    }

    // MARK: all of them

    @Test(
        "of a thousand patterns, as many match as the workload says, and none is there twice",
        arguments: [1, 10, 1000]
    )
    func patterns(matching: Int) {
        let workload = Self.plain.with { $0.interest = .patterns(1000, matching: matching) }
        let key = Names.key(0, of: workload).split(separator: ".")
        let patterns = Names.subscriptions(of: workload)
        let matches = patterns.filter { pattern in
            let tokens = pattern.split(separator: ".")
            return tokens.count == key.count && !zip(tokens, key).contains { $0 != "*" && $0 != $1 }
        }
        #expect(matches.count == matching)
        #expect(Set(patterns).count == 1000)
    }

    @Test(
        "the release number is found in what a program prints about itself",
        arguments: [
            ("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64", "7.0.15"),
            ("nats-server: v2.9.10", "2.9.10"),
            ("mosquitto version 2.0.11\n\nmosquitto is an MQTT", "2.0.11"),
        ]
    )
    func versions(text: String, number: String) {
        #expect(SystemVersion.number(in: text) == number)
        #expect(SystemVersion.number(in: "no number at all.") == nil)
    }
}
