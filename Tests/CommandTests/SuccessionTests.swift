import PlugboardPosix
import PlugboardWire
import Synchronization
import TestSupport
import Testing

@testable import plugboard

/// Brokers that are replaced by a new program while they run.
@Suite("restart", .someAtATime, .serialized)
struct SuccessionTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Counts the connections of a client that connects again and again.
    private final class Caller: Sendable {
        private let path: String
        private let isEnding = Atomic<Bool>(false)
        private let ended = Atomic<Bool>(false)
        let greetings = Atomic<Int>(0)
        let failures = Mutex<[String]>([])

        init(path: String) throws {
            self.path = path
            try Background.start { [self] in call() }
        }

        func end() throws {
            isEnding.store(true, ordering: .relaxed)
            try eventually("the caller has ended") { ended.load(ordering: .relaxed) }
        }

        private func call() {
            while !isEnding.load(ordering: .relaxed) {
                do {
                    let connection = try BrokerConnection(path: path, timeout: 20)
                    let first = try connection.nextLine()
                    guard first.kind == .event("hello") || first.kind == .event("bye") else {
                        throw CommandError(.refused, "neither hello nor bye")
                    }
                    greetings.add(1, ordering: .relaxed)
                    // A little while for the others. Whoever comes while the broker is replaced waits anyway.
                    Pause.sleep(seconds: 0.002)
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
            ended.store(true, ordering: .relaxed)
        }
    }

    /// Follows a key as the library does: it connects again, and asks only for what it doesn't know.
    private final class Follower: Sendable {
        private let path: String
        private let last: Int
        private let ended = Atomic<Bool>(false)
        let values = Mutex<[Int]>([])
        private let known = Mutex<Int>(0)
        let resumptions = Mutex<[Bool]>([])

        init(path: String, last: Int) throws {
            self.path = path
            self.last = last
            try Background.start { [self] in
                while (values.withLock { $0.last } ?? 0) < last { try? follow() }
                ended.store(true, ordering: .relaxed)
            }
        }

        func wait() throws {
            try eventually("the last write was told") { ended.load(ordering: .relaxed) }
        }

        private func follow() throws {
            let connection = try BrokerConnection(path: path, timeout: 20)
            _ = try connection.nextLine()
            let known = self.known.withLock { $0 }
            let request = #"{"op":"subscribe","key":"n","delivery":"all","since":\#(known)}"# + "\n"
            try connection.send(Array(request.utf8))
            while true {
                let line = try connection.nextLine()
                if let isResumed = line["resumed"]?.bool { resumptions.withLock { $0.append(isResumed) } }
                if line.kind == .event("bye") { return }
                guard line.kind == .event("update"), let revision = line["revision"]?.integer,
                    let value = line["value"]?.integer
                else { continue }
                self.known.withLock { $0 = Int(revision) }
                let isLast = values.withLock { values in
                    values.append(Int(value))
                    return Int(value) >= last
                }
                if isLast { return }
            }
        }
    }

    @Test("twenty times: no connection is refused, and a client that comes back gets each write once")
    func twenty() throws {
        let broker = try startBroker(in: folder)
        let path = folder.socket
        let callers = try (0..<3).map { _ in try Caller(path: path) }
        let follower = try Follower(path: path, last: 200)
        for round in 0..<20 {
            #expect(try plugboard("publish", "n", "\(round * 10 + 1)", in: folder).end == .exited(0))
            let writer = try BrokerConnection(path: path)
            for number in 2...10 {
                let write = ObjectWriter(op: "publish").adding("key", string: "n")
                _ = try writer.request(write.adding("value", round * 10 + number))
            }
            if round % 4 == 0 {
                let run = try plugboard("restart", in: folder)
                #expect(run.end == .exited(0), "\(run.messages)")
                #expect(run.output.hasPrefix("the broker has begun anew, at revision "))
            } else {
                let count = broker.messages.components(of: "begun anew")
                broker.signal(SIGUSR2)
                try eventually("it has begun anew") { broker.messages.components(of: "begun anew") > count }
            }
        }
        try follower.wait()
        for caller in callers { try caller.end() }
        #expect(callers.flatMap { $0.failures.withLock { $0 } } == [])
        #expect(callers.allSatisfy { $0.greetings.load(ordering: .relaxed) > 20 })
        #expect(follower.values.withLock { $0 } == Array(1...200))
        #expect(follower.resumptions.withLock { $0.allSatisfy { $0 } })
        try eventually("it is told") { broker.messages.components(of: "begun anew") == 20 }
    }

    @Test("without a journal everything goes with the process: values, writers, times and the epoch")
    func memory() throws {
        let broker = try startBroker(in: folder, "--memory")
        #expect(try plugboard("publish", "a", "[1, 2.50]", "--name", "till", in: folder).end == .exited(0))
        #expect(try plugboard("publish", "gone", "1", in: folder).end == .exited(0))
        #expect(try plugboard("delete", "gone", in: folder).end == .exited(0))
        #expect(try plugboard("publish", "soon", "1", "--ttl", "3600", in: folder).end == .exited(0))
        // An emit isn't kept and takes no revision.
        #expect(try plugboard("emit", "soon", "1", in: folder).end == .exited(0))
        let bridge = try BrokerConnection(path: folder.socket)
        _ = try bridge.request(ObjectWriter(op: "hello").adding("name", string: "bridge"))
        _ = try bridge.request(
            ObjectWriter(op: "publish").adding("key", string: "from").adding("value", 1)
                .adding("origin", string: "cart@b")
        )
        let before = try #require(try BrokerConnection(path: folder.socket).nextLine()["epoch"]?.string)
        #expect(
            try plugboard("restart", in: folder).output.hasPrefix("the broker has begun anew, at revision ")
        )
        let after = try BrokerConnection(path: folder.socket).nextLine()
        #expect(after["epoch"]?.string == before && (after["revision"]?.integer ?? 0) >= 4)
        let late = try BrokerConnection(path: folder.socket)
        let request = ObjectWriter(op: "subscribe").adding("key", string: "*").adding("since", 4)
        #expect(try late.request(request)["resumed"]?.bool == true)
        let missed = try BrokerConnection(path: folder.socket)
        let all = ObjectWriter(op: "subscribe").adding("key", string: "*").adding("since", 1)
        #expect(try missed.request(all)["resumed"]?.bool == true)
        let deleted = String(decoding: try missed.nextLine().bytes, as: UTF8.self)
        #expect(deleted.contains(#""delete","sub":1,"key":"gone","revision":3,"#))
        // The write of revision 2, which came after `since`, is part of what the successor knows.
        #expect(deleted.contains(#","skipped":1}"#))
        let updated = String(decoding: try missed.nextLine().bytes, as: UTF8.self)
        #expect(updated.contains(#""update","sub":1,"key":"soon","revision":4,"#))
        #expect(!updated.contains("skipped"))
        #expect(try plugboard("get", "a", in: folder).output == "[1, 2.50]\n")
        #expect(try plugboard("get", "a", "--json", in: folder).output.contains(#""by":"till""#))
        #expect(try plugboard("get", "from", "--json", in: folder).output.contains(#""origin":"cart@b""#))
        #expect(try plugboard("why", "from", in: folder).output.contains("by bridge for cart@b  "))
        #expect(try plugboard("who", "from", in: folder).output.contains("by bridge for cart@b, who is gone"))
        #expect(try plugboard("keys", in: folder).output.split(separator: "\n").count == 3)
        try eventually("it is told") { broker.messages.contains("begun anew") }
    }

    /// A broker whose program is a copy, which can be replaced.
    private func copied(_ options: String...) throws -> (program: String, broker: Run) {
        let program = try Products.copyPlugboard(to: folder, "plugboard")
        let broker = try Run(program: program, ["broker", "--socket", folder.socket] + options, in: folder)
        try eventually("the broker listens") { broker.messages.contains("listening on ") }
        return (program, broker)
    }

    @Test("SIGHUP replaces the broker if its program was replaced; one that can't start changes nothing")
    func replaced() throws {
        let (program, broker) = try copied()
        #expect(try plugboard("publish", "a", "1", in: folder).end == .exited(0))
        try SystemCalls.rename(folder.script("other", "exit 3"), to: program)
        broker.signal(SIGHUP)
        try eventually("it says that it goes on") { broker.messages.contains("it goes on as it was: ") }
        try SystemCalls.rename(folder.script("other", "echo something else"), to: program)
        broker.signal(SIGHUP)
        try eventually("it says why") { broker.messages.contains("printed no version of plugboard") }
        #expect(try plugboard("get", "a", in: folder).output == "1\n")
        try SystemCalls.rename(Products.copyPlugboard(to: folder, "next"), to: program)
        broker.signal(SIGHUP)
        try eventually("it has begun anew") { broker.messages.contains("begun anew") }
        #expect(try plugboard("get", "a", in: folder).output == "1\n")
    }

    @Test("whoever asks for a new program that can't start is told why, as are status and the warnings")
    func refusal() throws {
        let (program, broker) = try copied()
        try SystemCalls.rename(folder.script("other", "exit 3"), to: program)
        let reason = "it goes on as it was: \(program) exited with status 3 when it was tried"
        for _ in 0..<2 {
            let asked = try plugboard("restart", in: folder)
            #expect(asked.end == .exited(1))
            #expect(asked.messages == "plugboard restart: \(reason)\n")
        }
        #expect(try plugboard("status", in: folder).output.contains("\(reason), 2 times"))
        let warnings = try plugboard("get", "$broker.warnings", in: folder).output
        #expect(warnings.contains(#""kind":"restart","times":2,"#))
        try SystemCalls.rename(Products.copyPlugboard(to: folder, "next"), to: program)
        #expect(try plugboard("restart", in: folder).end == .exited(0))
        #expect(try plugboard("status", in: folder).end == .exited(0))
        broker.signal(SIGTERM)
        #expect(try broker.finished().end == .exited(0))
    }

    @Test("a program that can't begin after its trial changes nothing, and nor does another try")
    func notBegun() throws {
        let (program, broker) = try copied()
        try SystemCalls.rename(folder.script("other", "chmod -x \"$0\"; echo plugboard 1"), to: program)
        broker.signal(SIGUSR2)
        try eventually("it goes on") { broker.messages.contains("it goes on as it was: ") }
        let peer = try LinePeer(path: folder.socket)
        _ = try peer.line()
        broker.signal(SIGUSR2)
        try eventually("it is told again") { broker.messages.components(of: "it goes on as it was: ") == 2 }
        try peer.send("sync\n")
        #expect(try peer.line()?.starts(with: #"{"ok":"sync""#.utf8) == true)
    }

    @Test("a broker that is ended while a new program is tried doesn't wait for that")
    func endedMeanwhile() throws {
        let (program, broker) = try copied()
        try SystemCalls.rename(folder.script("other", "echo $$ > tried; exec sleep 1000"), to: program)
        broker.signal(SIGUSR2)
        try eventually("it is tried") { folder.text("tried").hasSuffix("\n") }
        broker.signal(SIGTERM)
        #expect(try broker.finished().end == .exited(0))
        #expect(broker.messages.contains("\(program) was still tried when the broker was ended\n"))
        let tried = try #require(Int32(folder.text("tried").dropLast()))
        try eventually("it is gone") { !Processes.isAlive(tried) }
    }

    @Test("a policy with which the next broker couldn't start is noticed before, and changes nothing")
    func wrongPolicy() throws {
        try folder.write("p.json", #"{"rules":[{"allow":{"everything":["**","$broker.**"]}}]}"#)
        let broker = try startBroker(in: folder, "--policy", "p.json")
        #expect(try plugboard("publish", "a", "1", in: folder).end == .exited(0))
        try folder.write("p.json", "{")
        broker.signal(SIGUSR2)
        try eventually("it says that it goes on") {
            broker.messages.contains("it goes on as it was: p.json:1:2: ")
        }
        #expect(try plugboard("get", "a", in: folder).output == "1\n")
        try folder.write("p.json", #"{"rules":[{"allow":{"everything":["**","$broker.**"]}}]}"#)
        #expect(try plugboard("restart", in: folder).end == .exited(0))
        #expect(try plugboard("get", "a", in: folder).output == "1\n")
    }

    @Test("the next broker uses the policy that was checked, whatever the file is by then")
    func checkedPolicy() throws {
        let denying = #"{"rules":[{"allow":{"everything":["**","$broker.**"]},"deny":{"publish":["no"]}}]}"#
        try folder.write("p.json", denying)
        let (program, broker) = try copied("--policy", "p.json")
        let spoiling = "case $1 in broker) echo '{' >p.json;; esac; exec '\(Products.plugboard)' \"$@\""
        try SystemCalls.rename(folder.script("other", spoiling), to: program)
        #expect(try plugboard("restart", in: folder).end == .exited(0))
        #expect(folder.text("p.json") == "{\n")
        #expect(try plugboard("publish", "a", "1", in: folder).end == .exited(0))
        #expect(try plugboard("publish", "no", "1", in: folder).messages.contains("forbidden"))
        broker.signal(SIGHUP)
        try eventually("it reads the file again") { broker.messages.contains("the policy stays as it was: ") }
        #expect(try plugboard("publish", "no", "1", in: folder).messages.contains("forbidden"))
    }

    @Test("a program that refuses the policy changes nothing")
    func policyNotTaken() throws {
        try folder.write("p.json", #"{"rules":[{"allow":{"everything":["**","$broker.**"]}}]}"#)
        let (program, broker) = try copied("--policy", "p.json")
        let refusing = "case $1 in policy) exit 1;; *) echo plugboard 1;; esac"
        try SystemCalls.rename(folder.script("other", refusing), to: program)
        broker.signal(SIGUSR2)
        try eventually("it says why") { broker.messages.contains("does not take the policy: it exited") }
        #expect(try plugboard("publish", "a", "1", in: folder).end == .exited(0))
    }

    @Test("a returning client continues if the policy is the same, and begins again if it isn't")
    func samePolicy() throws {
        func policy(_ more: String) throws {
            try folder.write("p.json", #"{"rules":[{"allow":{"everything":["**","$broker.**"]}}\#(more)]}"#)
        }
        try policy("")
        let program = try Products.copyPlugboard(to: folder, "plugboard")
        let words = ["broker", "--ready", "--socket", folder.socket, "--policy", "p.json"]
        let broker = try Run(program: program, words, in: folder)
        try eventually("the broker listens") { broker.output == "ready\n" }
        #expect(try plugboard("publish", "a", "1", in: folder).end == .exited(0))
        func resumes() throws -> Bool? {
            let request = ObjectWriter(op: "subscribe").adding("key", string: "*").adding("since", 1)
            return try BrokerConnection(path: folder.socket).request(request)["resumed"]?.bool
        }
        #expect(try plugboard("restart", in: folder).end == .exited(0))
        #expect(try resumes() == true)
        try SystemCalls.rename(Products.copyPlugboard(to: folder, "next"), to: program)
        broker.signal(SIGHUP)
        try eventually("it is told again") { broker.messages.components(of: "begun anew") == 2 }
        #expect(try resumes() == true)
        try policy(#",{"plugin":"till","deny":{"publish":["x"]}}"#)
        #expect(try plugboard("restart", in: folder).end == .exited(0))
        #expect(try resumes() == false)
        try eventually("it is told") { broker.messages.components(of: "begun anew") == 3 }
    }

    @Test("a variable that anybody may set doesn't change what a broker is")
    func pretended() throws {
        for text in ["listener=0,lock=1", "listener=5,lock=6", "nonsense", "listener=99999999999"] {
            let broker = try Run(
                ["broker", "--ready", "--socket", folder.socket],
                in: folder,
                environment: [Handover.variable: text]
            )
            try eventually("the broker listens") { broker.output == "ready\n" }
            #expect(try plugboard("publish", "a", "1", in: folder).end == .exited(0))
            broker.signal(SIGTERM)
            #expect(try broker.finished().end == .exited(0))
        }
    }
}

extension String {
    fileprivate func components(of part: String) -> Int { ranges(of: part).count }
}
