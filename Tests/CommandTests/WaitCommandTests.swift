import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("plugboard wait", .someAtATime)
final class WaitCommandTests: BrokerSuite {
    /// Starts `wait` in the background, and returns when the broker knows that it observes the key.
    private func observers(of key: String) throws -> Int {
        try run("who", key).lines.count { $0.contains("sub 1") }
    }

    private func start(_ key: String, _ words: String...) throws -> Run {
        let before = try observers(of: key)
        let waiter = try Run(["wait", key] + words, in: folder)
        try eventually("it observes") { try observers(of: key) > before }
        return waiter
    }

    @Test("a value that is there already is printed at once, even without any time")
    func alreadyThere() throws {
        _ = try run("publish", "job.1", #"{"state":"done", "n":1.0}"#, "--name", "me")
        let met = try run("wait", "job.1", "--for", "0")
        #expect(met.output == #"{"state":"done", "n":1.0}"# + "\n")
        #expect(met.end == .exited(0))
        #expect(
            try run("wait", "job.*").output
                == #"{"key":"job.1","revision":1,"value":{"state":"done", "n":1.0},"by":"me"}"# + "\n"
        )
        #expect(try run("wait", "job.*", "--field", "/state", "--raw").output == "done\n")
    }

    @Test("it waits for a value that meets the condition, and ignores emits")
    func condition() throws {
        _ = try run("publish", "n", "1")
        let waiter = try start("n", "--where", #"{"":{">=":3}}"#)
        for words in [
            ["emit", "n", "9"], ["publish", "n", "2"], ["publish", "n", "3"], ["publish", "n", "4"],
        ] {
            _ = try Run(words, in: folder).finished()
        }
        let met = try waiter.finished()
        #expect(met.output == "3\n")
        #expect(met.end == .exited(0))
    }

    @Test("with --field it waits for a value that has the part")
    func part() throws {
        _ = try run("publish", "user", #"{"name":null}"#)
        let waiter = try start("user", "--field", "/mail", "--raw")
        _ = try run("publish", "user", #"{"mail":"ada@example.org"}"#)
        #expect(try waiter.finished().output == "ada@example.org\n")
    }

    @Test("when the time has passed it ends with status 1, and prints nothing")
    func tooLate() throws {
        _ = try run("publish", "n", "1")
        for seconds in ["0", "0.05"] {
            let late = try run("wait", "n", "--where", #"{"":{">":1}}"#, "--for", seconds)
            #expect(late.end == .exited(1))
            #expect(late.output.isEmpty)
            #expect(late.messages == "plugboard wait: no value fits after \(seconds) seconds\n")
        }
    }

    @Test("without a broker the status is 69, also if it goes meanwhile and the time passes")
    func noBroker() throws {
        // On a busy machine a short time may pass before the broker goes: then a longer one counts.
        let waits = try ["60", "8", "0.5"].map { ($0, try start("n", "--for", $0)) }
        let impatient = try start("n", "--no-reconnect")
        broker.signal(SIGKILL)
        _ = try broker.finished()
        #expect(try impatient.finished().end == .exited(69))
        let (seconds, patient) = try #require(waits.last { $0.1.isRunning })
        let late = try patient.finished()
        #expect(late.end == .exited(69))
        #expect(late.messages.contains("there is no broker after \(seconds) seconds"))
        let none = try run("wait", "n")
        #expect(none.end == .exited(69))
        #expect(none.messages.contains("no broker at"))
    }

    @Test("when the broker comes back, it goes on waiting")
    func comesBack() throws {
        let waiter = try start("n", "--where", #"{"":{"==":2}}"#, "--for", "60")
        broker.signal(SIGKILL)
        _ = try broker.finished()
        let next = try startBroker(in: folder)
        _ = try run("publish", "n", "1")
        _ = try run("publish", "n", "2")
        let met = try waiter.finished()
        #expect(met.output == "2\n")
        #expect(met.end == .exited(0))
        _ = next
    }

    @Test("mistakes in the command line are found before the broker is asked")
    func mistakes() throws {
        let wrong: [([String], String)] = [
            (["a.**.b"], "bad_pattern"), ([".a"], "is not a key"), (["a", "b"], "one argument too many"),
            (["a", "--for", "soon"], "is a number of seconds"), (["a", "--for"], "--for needs a value"),
            (["a", "--where", "x"], "--where is not JSON"), (["a", "--where", #"{"/a":1}"#], "operators"),
            (["a", "--field", "price"], "begins with \"/\""),
            (["a", "--fro", "1"], "did you mean \"--for\"?"),
            (["a", "--raw", "--json"], "--json prints whole lines"),
        ]
        for (words, message) in wrong {
            let finished = try Run(["wait"] + words, in: folder).finished()
            #expect(finished.end == .exited(64), "\(words)")
            #expect(finished.messages.contains(message), "\(finished.messages)")
        }
    }
}
