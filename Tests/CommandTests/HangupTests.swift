// A terminal that closes while programs run in it.

#if os(Linux)
    import PlugboardPosix
    import TestSupport
    import Testing

    @testable import plugboard

    @Suite("When its terminal is closed", .someAtATime)
    final class HangupTests: ShopSuite {
        /// Starts a command that leads a session, with that terminal.
        private func start(_ words: [String], at terminal: TestTerminal) throws -> ChildProcess {
            let variables: KeyValuePairs = [
                "PLUGBOARD_SOCKET": shop.folder.socket, "XDG_STATE_HOME": "\(shop.folder.path)/state",
            ]
            let script = #"exec 0<>"$0" 1>&0 2>&0; exec "$@""#
            return try ChildProcess(
                starting: ChildStart(
                    program: "/bin/sh",
                    arguments: ["-c", script, terminal.path, Products.plugboard] + words,
                    environment: Environment.all(with: variables),
                    folder: shop.folder.path,
                    leading: .session
                )
            )
        }

        @Test("the broker stops, even with a policy, and up stops with all its plugins")
        func closed() throws {
            try shop.folder.write("p.json", #"{"rules":[{"allow":{"everything":["**"]}}]}"#)
            try shop.add("plain", "echo $$ > pids; exec sleep 1000")
            for words in [["broker"], ["broker", "--policy", "p.json"], ["up"]] {
                var terminal: TestTerminal? = try TestTerminal()
                var child = try start(words, at: try #require(terminal))
                try eventually("it serves") {
                    try plugboard("publish", "a", "1", in: shop.folder).end == .exited(0)
                }
                if words[0] == "up" { _ = try shop.pids("plain", count: 1) }
                // A SIGHUP from elsewhere, while the terminal exists, has another effect.
                try Signals.send(SIGHUP, to: child.pid)
                #expect(try plugboard("get", "a", in: shop.folder).output == "1\n")
                #expect(child.end() == nil)
                terminal = nil
                try eventually("\(words) ends") { child.end() == .exited(0) }
                #expect(!shop.folder.exists("s"))
            }
            try shop.expectGone(shop.pids("plain", count: 1))
        }
    }
#endif
