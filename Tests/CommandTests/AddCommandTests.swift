import TestSupport
import Testing

@testable import plugboard

@Suite("plugboard add", .someAtATime)
final class AddCommandTests: BrokerSuite {
    @Test("the new number is printed, of the value or of a part of it")
    func prints() throws {
        #expect(try run("add", "visits").output == "1\n")
        #expect(try run("add", "visits", "41").output == "42\n")
        #expect(try run("add", "visits", "-0.50").output == "41.50\n")
        #expect(try run("add", "cart", "19.95", "--field", "/total").output == "19.95\n")
        #expect(
            try run("add", "cart", "1e1", "--field", "/items", "--json", "--ttl", "60").output
                == #"{"ok":"add","id":1,"revision":5,"value":10}"# + "\n"
        )
        #expect(try run("get", "cart").output == #"{"total":19.95,"items":10}"# + "\n")
        #expect(try run("add", "visits", "-", input: " 0.5\n").output == "42.00\n")
    }

    @Test("programs that add at the same time all count")
    func together() throws {
        let script = "for i in 1 2 3 4 5; do \"$0\" add n 1 & done; wait"
        let shell = try Run(program: "/bin/sh", ["-c", script, Products.plugboard], in: folder).finished()
        #expect(Set(shell.output.split(separator: "\n")) == ["1", "2", "3", "4", "5"])
        #expect(try run("get", "n").output == "5\n")
    }

    @Test("what is no number, here or on the bus, is said, and nothing is added")
    func refuses() throws {
        for word in ["one", "\"1\"", "{}", "1,5", "true"] {
            let finished = try run("add", "n", word)
            #expect(finished.end == .exited(64), "\(word)")
            #expect(finished.output.isEmpty && !finished.messages.isEmpty)
        }
        #expect(try run("add", "n", "1", "--field", "total").end == .exited(64))
        _ = try run("publish", "n", "{\"a\":\"x\"}")
        let finished = try run("add", "n", "1", "--field", "/a")
        #expect(finished.end == .exited(1))
        #expect(finished.messages.contains("there is no number to add to"))
        #expect(finished.messages.contains("it is a string"))
        #expect(try run("add", "n", "1", "--if", "7").end == .exited(1))
        #expect(try run("get", "n").output == "{\"a\":\"x\"}\n")
    }
}
