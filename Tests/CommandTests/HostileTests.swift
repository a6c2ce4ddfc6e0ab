// What other people choose (keys, names, values, errors) reaches a terminal or a log only as text,
// without control bytes and without characters that change the direction of writing.

#if os(Linux)
    import PlugboardPosix
    import PlugboardWire
    import TestSupport
    import Testing

    @testable import plugboard

    @Suite("text of others does nothing to a terminal or a log", .someAtATime)
    struct HostileTests {
        private static let key = "hall.\u{202E}pmal\u{2066}\u{200B}\u{E0041}"
        private static let name = "eve\u{202E}\u{2067}\u{AD}"
        /// Characters that JSON accepts unescaped: DEL, C1's CSI and NEL, marks of direction, a
        /// tag.
        private static let value = "\"\u{7F}\u{9B}31m\u{85}\u{202E}x\u{2028}\u{FEFF}\u{E0001}\""
        private let folder: TemporaryFolder
        private let broker: Run
        private let eve: BrokerConnection

        init() throws {
            folder = try TemporaryFolder()
            broker = try startBroker(in: folder, "--state", folder.path + "/journal")
            eve = try BrokerConnection(path: folder.socket)
            try eve.expectGreeting()
            _ = try eve.accepted(ObjectWriter(op: "hello").adding("name", string: Self.name))
            for (key, operation) in [(Self.key, "publish"), ("odd", "publish")] {
                let request = ObjectWriter(op: operation).adding("key", string: key)
                _ = try eve.accepted(request.adding("value", json: Array(Self.value.utf8)[...]))
            }
            let subscription = ObjectWriter(op: "subscribe").adding("keys", strings: ["hall.**", Self.key])
            _ = try eve.accepted(subscription.adding("sub", string: "s\u{202E}\u{85}"))
            _ = try eve.accepted(ObjectWriter(op: "serve").adding("key", string: "ask.\u{202E}"))
        }

        /// What a command shows on a terminal, including errors.
        private func shown(_ words: [String], _ act: () throws -> Void = {}) throws -> String {
            let terminal = try TestTerminal(columns: 200, rows: 50)
            let run = try Run(words, in: folder, environment: ["NO_COLOR": "1"], terminal: terminal.path)
            try eventually("\(words) ends") {
                try act()
                _ = terminal.shown()
                return !run.isRunning
            }
            return terminal.shown()
        }

        private func expectHarmless(_ text: String, _ what: String) {
            #expect(!text.isEmpty, "\(what) shows something")
            let harmful = text.unicodeScalars.filter { $0 != "\n" && $0 != "\r" && Printable.needsEscape($0) }
            #expect(harmful.isEmpty, "\(what): \(harmful.map { String($0.value, radix: 16) })")
        }

        @Test("no command that shows keys, names, values and subscriptions lets control characters through")
        func commands() throws {
            for words in [
                ["get", Self.key], ["get", "hall.**"], ["get", Self.key, "--json"], ["keys"],
                ["keys", "--json"],
                ["subscribe", "**", "--count", "2"], ["subscribe", "**", "--count", "2", "--json"],
                ["who", Self.key], ["who", "ask.\u{202E}"], ["who", Self.key, "--json"], ["why", Self.key],
                ["why", Self.key, "--json"], ["explain", "publish", Self.key, Self.value],
                ["explain", "patch", Self.key, Self.value, "--json"], ["explain", "delete", "no.\u{202E}"],
                ["top", "--once"], ["top", "--once", "--json"],
                ["journal", "show", "--state", folder.path + "/journal"],
                ["journal", "show", "--json", "--state", folder.path + "/journal"],
            ] {
                expectHarmless(try shown(words), "\(words)")
            }
        }

        @Test("keys that differ only in invisible characters look different")
        func lookalikes() throws {
            let requests = ["door", "door\u{200B}", "door\u{E0020}"].map { key in
                ObjectWriter(op: "publish").adding("key", string: key).adding("value", 1)
            }
            for request in requests { _ = try eve.accepted(request) }
            for words in [["get", "*"], ["keys", "*"], ["top", "--once"]] {
                let text = try shown(words) { for request in requests { _ = try eve.accepted(request) } }
                #expect(text.contains(#"door\u200b"#) && text.contains(#"door\udb40\udc20"#), "\(words)")
            }
            // A file and a program get the key itself.
            let piped = try plugboard("keys", "*", in: folder).output
            #expect(piped.contains("door\u{200B}\n"))
        }

        @Test("commands that report an error don't either")
        func errors() throws {
            for words in [
                ["get", "no.\u{202E}"], ["delete", "no.\u{202E}"], ["get", "\u{9B}31m"],
                ["publish", "a", "\u{9B}"],
                ["publish", "a", "1", "--name", "\u{1B}[2J"], ["\u{1B}[2J"], ["get", "a", "--\u{9B}"],
                ["call", "no.\u{202E}"], ["pause", "1", "\u{9B}"], ["keys", "--socket", "/no/\u{1B}[2J"],
                ["policy", "check", "/no/\u{9B}2J"], ["replay", "/no/\u{9B}2J"], ["up", "\u{9B}"],
                ["journal", "\u{9B}"], ["plugins"], ["plugins", "st\u{9B}op", "\u{9B}"],
            ] {
                expectHarmless(try shown(words), "\(words)")
            }
        }

        @Test("nor do commands that run on: a trace, and a call whose server says anything")
        func live() throws {
            let traced = try shown(["trace", "**", "--count", "1"]) {
                _ = try eve.accepted(
                    ObjectWriter(op: "emit").adding("key", string: Self.key).adding("value", 1)
                )
            }
            expectHarmless(traced, "trace")
            let called = try shown(["call", "ask.\u{202E}"]) {
                guard let line = try eve.nextLine(milliseconds: 10), line.kind == .event("call"),
                    let call = line["call"]?.string
                else { return }
                let error = #"{"code":"hostile","message":"\#u{9B}31m\#u{7F}\#u{202E}"}"#
                let answer = ObjectWriter(op: "return").adding("call", string: call)
                try eve.send(answer.adding("error", json: Array(error.utf8)[...]).line)
            }
            expectHarmless(called, "call")
            #expect(called.contains("hostile: "))
        }

        @Test("in files too, the output of plugins and the logs of up and the broker are text")
        func logs() throws {
            let shop = try Shop()
            try shop.add("rude", #"printf 'a\033]0;t\007\302\233b\177\342\200\256\n'; exit 1"#)
            let up = try shop.up()
            try eventually("it is broken") { up.messages.contains("broken after") }
            for (text, what) in [
                (up.output, "the output of up"), (up.messages, "what up says"),
                (try plugboard("plugin", "log", "rude", in: shop.folder).output, "plugin log"),
                (try plugboard("plugins", in: shop.folder).output, "plugins"),
            ] {
                expectHarmless(text, what)
            }
            try eventually("it is told") {
                up.output.contains(#"rude   | a\u001b]0;t\u0007\u009bb\u007f\u202e"#)
            }
        }

        @Test("this program's own colours stay, and nothing else that isn't text")
        func painted() {
            #expect(Printable.painted("\u{1B}[31mred\u{1B}[0m\n") == "\u{1B}[31mred\u{1B}[0m\n")
            #expect(Printable.painted("a\u{1B}[2Jb") == #"a\u001b[2Jb"#)
            #expect(Printable.painted("\u{1B}[311m\u{1B}[\u{1B}") == #"\u001b[311m\u001b[\u001b"#)
            #expect(Printable.painted("\r\u{9B}\u{202E}") == #"\u000d\u009b\u202e"#)
        }
    }
#endif
