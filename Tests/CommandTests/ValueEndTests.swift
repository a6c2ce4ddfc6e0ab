import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("what ends a value", .someAtATime)
final class ValueEndTests: BrokerSuite {
    private static let moment: UInt64 = 1_795_000_000_000

    private func text(_ line: String) throws -> String? {
        ValueEnd(try JSONObject(parsing: Array(line.utf8)[...]), now: Self.moment)?.text
    }

    @Test("a time is told by what is left of it and by its end, a connection in words")
    func texts() throws {
        #expect(try text("{}") == nil)
        #expect(try text(#"{"while":"connected"}"#) == "with its writer's connection")
        #expect(try text(#"{"ttl":298500}"#) == "in 4:59, at 2026-11-18T11:11:38.500Z")
        let both = try text(#"{"ttl":1,"while":"connected"}"#)
        #expect(both == "in 1 s, at 2026-11-18T11:06:40.001Z, or with its writer's connection")
        let waited = try text(#"{"while":"connected","grace":59001}"#)
        #expect(waited == "in 1:00 unless its writer comes back")
        #expect(try text(#"{"ttl":9007199254740991}"#)?.hasSuffix("9999-12-31T23:59:59.999Z") == true)
        #expect(ValueEnd(isBound: false, expires: 0) == nil)
        #expect(ValueEnd(isBound: false, expires: Self.moment)?.text == "at 2026-11-18T11:06:40.000Z")
    }

    @Test("get --long, keys --long and journal show tell it")
    func shown() throws {
        let till = try LinePeer(path: folder.socket)
        try till.send(
            #"{"op":"publish","id":1,"key":"till.open","value":true,"while":"connected","cause":7}"# + "\n"
        )
        while try !till.text().contains(#""ok":"publish""#) {}
        _ = try run("publish", "till.hint", "1", "--ttl", "600", "--name", "ada")
        _ = try run("publish", "plain", "1", "--name", "ada")
        let one = try run("get", "till.open", "--long").lines
        let written = #/  written   20\S+:\d\dZ/#
        #expect(
            one.map { $0.replacing(written, with: "  written") } == [
                "till.open", "  value     true", "  revision  1", "  by        #1", "  written",
                "  cause     7",
                "  ends      with its writer's connection",
            ]
        )
        let all = try run("get", "**", "--long").lines
        #expect(all.count { $0.wholeMatch(of: written) != nil } == 3)
        #expect(all.contains("  ends      not by itself") && all.contains("  by        ada, who is gone"))
        #expect(all.contains { $0.wholeMatch(of: #/  ends      in (10:00|9:\d\d), at 20\S+Z/#) != nil })
        let keys = try run("keys", "--long").lines
        #expect(keys.first?.split(separator: " ") == ["KEY", "REVISION", "WRITER", "ENDS"])
        #expect(keys[1].split(separator: " ") == ["plain", "3", "gone", "-"])
        #expect(keys[2].wholeMatch(of: /till\.hint +2  gone +in (10:00|9:\d\d), at 20\S+Z/) != nil)
        #expect(keys[3].hasSuffix("connected  with its writer's connection"))
        #expect(try run("keys", "--json").lines[2].hasSuffix(#","live":true,"while":"connected"}"#))
        #expect(try run("get", "plain", "--long", "--raw").end == .exited(64))
        #expect(try run("get", "nothing", "--long").end == .exited(1))
        broker.signal(SIGTERM)
        _ = try broker.finished()
        let journal = try run("journal", "show").lines
        #expect(journal.contains { $0.hasSuffix("till.open true  by #1  ends with its writer's connection") })
        #expect(journal.contains { $0.wholeMatch(of: /.*till\.hint 1  by ada  ends at 20\S+Z/) != nil })
        #expect(journal.contains { $0.hasSuffix("plain 1  by ada") })
    }

    @Test("disconnect ends a client's connection, which is told by whom")
    func disconnects() throws {
        let till = try LinePeer(path: folder.socket)
        try till.send(#"{"op":"publish","id":1,"key":"here","value":1,"while":"connected"}"# + "\n")
        while try !till.text().contains(#""ok":"publish""#) {}
        #expect(try run("disconnect", "1").output == "client 1 is disconnected\n")
        while let line = try till.line() {
            let text = String(decoding: line, as: UTF8.self)
            if text.contains("bye") {
                #expect(text.contains(#""reason":"disconnected","message":"client 2 has"#))
            }
        }
        #expect(try run("keys").output.isEmpty)
        let gone = try run("disconnect", "1")
        #expect(gone.end == .exited(1) && gone.messages.contains("not_found: there is no client 1"))
        for word in ["till", "0", "-1", "1.5"] { #expect(try run("disconnect", word).end == .exited(64)) }
    }

    @Test("trace shows calls, with who answered and after how long")
    func traces() throws {
        let trace = try Run(["trace", "cart.*", "--count", "4"], in: folder)
        let server = try LinePeer(path: folder.socket)
        try server.send(
            "{\"op\":\"hello\",\"name\":\"cart\"}\n{\"op\":\"serve\",\"id\":1,\"key\":\"cart.add\"}\n"
        )
        while try !server.text().contains(#""ok":"serve""#) {}
        try eventually("traced") { try run("get", "$broker.stats").output.contains(#""subscriptions":1,"#) }
        let caller = try Run(["call", "cart.add", "--name", "ada"], in: folder)
        while try !server.text().contains(#""event":"call""#) {}
        try server.send(#"{"op":"return","id":2,"call":"1","value":1}"# + "\n")
        #expect(try caller.finished().output == "1\n")
        #expect(try run("call", "cart.nothing", "--name", "ada").end == .exited(1))
        _ = try run("publish", "cart.a", "1")
        let lines = try trace.finished().lines
        #expect(lines.count == 5)
        #expect(lines[0].contains("  cart.add  call 1 by ada  asked of cart (client "))
        #expect(lines[1].contains("  cart.add  call 1 by ada  answered by cart (client "))
        #expect(lines[1].contains(") after "))
        #expect(lines[2].hasSuffix("  cart.nothing  call by ada  failed: no_provider"))
        #expect(lines[3].contains("  cart.a  publish by "))
    }
}
