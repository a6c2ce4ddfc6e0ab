#if os(Linux)
    import PlugboardPosix
    import TestSupport
    import Testing

    @testable import plugboard

    @Suite("On a terminal", .someAtATime)
    final class TerminalTests: BrokerSuite {
        /// What a command shows on a terminal, until it ends.
        private func screen(
            _ words: String..., input: String = "", environment: [String: String] = ["NO_COLOR": "1"]
        ) throws -> String {
            let terminal = try TestTerminal()
            let run = try Run(
                words, in: folder, input: input, environment: environment, terminal: terminal.path
            )
            _ = try run.finished()
            return terminal.shown()
        }

        @Test("an event is a readable line with time, kind, key, value, revision and writer")
        func readable() throws {
            _ = try plugboard("publish", "cart.total", "1", "--name", "x", in: folder)
            let terminal = try TestTerminal()
            let watcher = try Run(
                ["subscribe", "**", "--old", "--count", "4"],
                in: folder,
                environment: ["NO_COLOR": "1"],
                terminal: terminal.path
            )
            try eventually("synced") { terminal.shown().contains("waiting for changes") }
            _ = try plugboard("publish", "cart.total", "2", "--name", "y", in: folder)
            _ = try plugboard("emit", "hey", "[]", "--name", "y", in: folder)
            _ = try plugboard("delete", "cart.total", "--name", "z", in: folder)
            _ = try watcher.finished()
            let lines = terminal.shown().split(separator: "\n").map {
                $0.drop { "0123456789:.Z".contains($0) }
            }
            #expect(
                lines == [
                    "  value   cart.total  1  by x, revision 1",
                    "1 value so far; waiting for changes, Ctrl-C ends".dropFirst(1),
                    "  update  cart.total  2  was 1  by y, revision 2",
                    "  emit    hey         []  by y, revision 2",
                    "  delete  cart.total  was 2  by z, revision 3",
                ]
            )
        }

        @Test("an event's rare fields come after its writer, and a gap is shown as one")
        func details() throws {
            var view = EventView(console: CommandConsole(), asJSON: false)
            let time = TimeOfDay.now()
            func shown(_ json: String) throws -> String {
                let line = try #require(BrokerLine(Array(json.utf8)[...]))
                guard case .event(let name) = line.kind else { return "no event" }
                return Paint.without(view.readable(name, line, at: time)).replacing("\(time)  ", with: "")
            }
            #expect(
                try shown(
                    #"{"event":"update","sub":1,"key":"k","revision":7,"value":1,"by":"a","cause":5,"skipped":2,"unacked":["b","c"]}"#
                ) == "update  k  1  by a, revision 7, because of 5, 2 before it skipped, not waiting for b, c"
            )
            #expect(
                try shown(#"{"event":"delete","sub":1,"key":"k","revision":8,"by":"a","reason":"expired"}"#)
                    == "delete  k  by a, revision 8, expired"
            )
            #expect(
                try shown(
                    #"{"event":"update","sub":1,"key":"k","revision":9,"fields":{"/p":1},"gone":["/q\u001b"],"by":"a"}"#
                ) == #"update  k  {"/p":1}  without /q\u001b  by a, revision 9"#
            )
            #expect(
                try shown(#"{"event":"update","sub":1,"key":"k","revision":9,"patch":{"p":1},"by":"a"}"#)
                    == #"update  k  merge {"p":1}  by a, revision 9"#
            )
            #expect(
                try shown(#"{"event":"leave","sub":1,"key":"k","revision":9,"by":"a"}"#)
                    == "leave   k  by a, revision 9"
            )
            #expect(
                try shown(#"{"event":"lagged","sub":1,"dropped":123,"first":4,"last":130}"#)
                    == "lagged  123 events are missing here, revisions 4 to 130"
            )
        }

        @Test("a command that reads what a person types says so")
        func typed() throws {
            let terminal = try TestTerminal()
            let run = try Run(["publish", "a", "-"], in: folder, terminal: terminal.path, typing: true)
            try eventually("it asks") { terminal.shown().contains("reading what is typed here; Ctrl-D ends") }
            terminal.type("[1]\n\u{4}")
            #expect(try run.finished().end == .exited(0))
            #expect(try plugboard("get", "a", in: folder).output == "[1]\n")
        }

        @Test("with --json it prints JSON lines there as well")
        func jsonLines() throws {
            _ = try plugboard("publish", "a", "1", "--name", "x", in: folder)
            let shown = try screen("subscribe", "a", "--json", "--count", "1")
            #expect(
                shown == #"{"event":"update","sub":1,"key":"a","revision":1,"value":1,"by":"x","#
                    + #""initial":true,"live":false}"# + "\n"
            )
        }

        @Test("colours are used, but not with NO_COLOR or on a dumb terminal")
        func colours() throws {
            _ = try plugboard("publish", "a", "1", in: folder)
            #expect(try screen("subscribe", "a", "--count", "1", environment: [:]).contains("\u{1B}[1ma"))
            #expect(
                try !screen("subscribe", "a", "--count", "1", environment: ["NO_COLOR": "1"]).contains(
                    "\u{1B}"
                )
            )
            #expect(
                try !screen("subscribe", "a", "--count", "1", environment: ["TERM": "dumb"]).contains(
                    "\u{1B}"
                )
            )
            #expect(
                try screen("subscribe", "a", "--count", "1", environment: ["NO_COLOR": ""]).contains(
                    "\u{1B}[1m"
                )
            )
        }

        @Test("get shows a value, or a pattern's keys and values in columns")
        func get() throws {
            _ = try plugboard("publish", "a", "[1]", in: folder)
            _ = try plugboard("publish", "a.long.key", "2", in: folder)
            #expect(try screen("get", "a") == "[1]\n")
            #expect(try screen("get", "**") == "a           [1]\na.long.key  2\n")
        }

        @Test("control bytes in values, names and keys never reach it unescaped")
        func controlBytes() throws {
            let evil = "\u{7F}\u{9B}31m\u{202E}"
            let value = "\"\(evil)\""
            _ = try plugboard("publish", "a", value, "--name", "e\u{202E}ve", in: folder)
            _ = try plugboard("publish", "k.\u{202E}b", "1", in: folder)
            #expect(try plugboard("get", "a", in: folder).output == value + "\n")
            let screens = [
                try screen("get", "a"), try screen("get", "**"), try screen("get", "a", "--json"),
                try screen("subscribe", "**", "--count", "2"),
                try screen("subscribe", "**", "--count", "2", "--json"),
                try screen("keys"), try screen("keys", "--json"), try screen("get", "b\u{202E}"),
                try screen("delete", "nothing.\u{202E}", "--json"), try screen("publis\u{9B}"),
                try screen("batch", input: "{\"op\":\"publish\",\"key\":\"\u{202E}..\",\"value\":1}"),
                try screen("publish", "--from", "-", input: "{\"k\u{9B}ey\":1}"),
                try screen("up", "--plugins", "/no\u{1B}[31m"),
                try screen("replay", "-", input: "{\"event\":\"\u{9B}\",\"ms\":\u{202E}}"),
            ]
            for shown in screens {
                #expect(!shown.isEmpty)
                for scalar in shown.unicodeScalars where scalar != "\n" && scalar != "\t" {
                    #expect(scalar.properties.generalCategory != .control, "\(shown.debugDescription)")
                    #expect(scalar != "\u{202E}", "\(shown.debugDescription)")
                }
            }
        }

        @Test("a long import draws a bar, removes it and leaves the result")
        func progress() throws {
            let terminal = try TestTerminal()
            let pipe = try folder.write(
                "feed", String(repeating: "{\"key\":\"a\",\"value\":1}\n", count: 20_000)
            )
            let script =
                #"{ cat "$1"; sleep 0.5; cat "$1"; sleep 0.2; cat "$1"; } | "$0" publish --from - 2>"$2" >result"#
            let run = try Run(
                program: "/bin/sh", ["-c", script, Products.plugboard, pipe, terminal.path], in: folder
            )
            _ = try run.finished()
            let shown = terminal.shown()
            #expect(shown.contains("\r") && shown.contains(" lines  ") && shown.contains("/s\u{1B}[K"))
            #expect(shown.hasSuffix("\r\u{1B}[K"))
            #expect(folder.text("result") == "published 60000 values, revision 60000\n")
        }

        @Test("a long replay draws a bar, removes it and leaves the result")
        func replay() throws {
            let events = [0, 700].map { milliseconds in
                #"{"ms":\#(milliseconds),"event":"emit","key":"a","revision":1,"value":1}"# + "\n"
            }
            let shown = try screen("replay", "-", input: "{\"recording\":1}\n" + events.joined())
            #expect(shown.contains("\r1 events  "))
            #expect(shown.hasSuffix("\r\u{1B}[Kplayed 0 values and 2 events, revision 0\n"))
            let file = try folder.write("s.ndjson", "{\"recording\":1}\n" + events.joined())
            let whole = try screen("replay", file)
            #expect(whole.contains(/[1-9]\d %  1 events/), "\(whole.debugDescription)")
        }

        @Test("a recording on a terminal has its control bytes escaped")
        func record() throws {
            let terminal = try TestTerminal()
            let recorder = try Run(["record", "**"], in: folder, terminal: terminal.path)
            try eventually("it records") { terminal.shown().contains("synced") }
            _ = try plugboard("publish", "k.\u{202E}", "\"\u{9B}31m\"", in: folder)
            recorder.signal(SIGINT)
            _ = try recorder.finished()
            let shown = terminal.shown()
            #expect(shown.contains(#""key":"k.\u202e","revision":1,"value":"\u009b31m""#))
            #expect(shown.contains("recording; Ctrl-C ends\n") && shown.hasSuffix(" s\n"))
        }

        @Test("a short import draws no bar, and neither does one without a terminal")
        func noProgress() throws {
            #expect(
                try screen("publish", "--from", "-", input: "{\"key\":\"a\",\"value\":1}\n")
                    == "published 1 value, revision 1\n"
            )
        }
    }
#endif
