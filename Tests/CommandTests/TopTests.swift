#if os(Linux)
    import PlugboardPosix
    import PlugboardWire
    import TestSupport
    import Testing

    @testable import plugboard

    @Suite("top", .someAtATime)
    final class TopTests: BrokerSuite {
        /// `top` on a terminal, after it has drawn something.
        private func top(
            on terminal: TestTerminal, _ more: String..., environment: [String: String] = ["NO_COLOR": "1"]
        ) throws -> Run {
            let run = try Run(
                ["top", "--every", "0.1"] + more,
                in: folder,
                environment: environment,
                terminal: terminal.path,
                typing: true
            )
            try eventually("it has drawn") { terminal.written().contains("q leaves") }
            return run
        }

        private func screen(_ terminal: TestTerminal, columns: Int = 80, rows: Int = 24) -> TestScreen {
            TestScreen(columns: columns, rows: rows, showing: terminal.written())
        }

        private func publish(_ key: String, times: Int = 1) throws {
            let lines = (0..<times).map { "{\"key\":\"\(key)\",\"value\":\($0)}\n" }
            _ = try run("publish", "--from", "-", "--name", "me", input: lines.joined())
        }

        @Test("takes the whole screen, shows which keys change, and q leaves it as it was")
        func keys() throws {
            let terminal = try TestTerminal()
            #expect(terminal.isPlain)
            let top = try top(on: terminal)
            #expect(!terminal.isPlain)
            try publish("cart.items", times: 3)
            try publish("screen")
            try eventually("both keys are shown") {
                screen(terminal).lines.contains { $0.hasPrefix("screen  ") }
            }
            let shown = screen(terminal)
            #expect(shown.isAlternate && !shown.showsCursor && !shown.wraps)
            #expect(shown.lines[0] == "plugboard top at \(folder.socket)")
            let title = try #require(shown.lines.firstIndex { $0.hasPrefix("KEY  ") })
            #expect(shown.lines[title].hasSuffix("CHANGES/s  TOTAL  LAST BY"))
            #expect(
                shown.lines[title + 1].hasPrefix("cart.items  ")
                    && shown.lines[title + 1].hasSuffix("  3  me")
            )
            #expect(
                shown.lines[title + 2].hasPrefix("screen  ") && shown.lines[title + 2].hasSuffix("  1  me")
            )
            #expect(shown.lines[23].hasPrefix("q leaves   p holds the picture   keys: "))
            terminal.type("\u{1B}[Aq")
            #expect(try top.finished().end == .exited(0))
            let after = screen(terminal)
            #expect(!after.isAlternate && after.showsCursor && after.wraps)
            #expect(after.complaints == [])
            #expect(terminal.isPlain)
        }

        @Test("it sorts and scrolls with the keys of htop: > and F6, < and I, arrows and Tab")
        func sorting() throws {
            let terminal = try TestTerminal()
            let top = try top(on: terminal)
            for (key, times) in [("b", 3), ("c", 1), ("a", 2)] { try publish(key, times: times) }
            func keys() -> [Substring] {
                let lines = screen(terminal).lines
                guard let title = lines.firstIndex(where: { $0.hasPrefix("KEY") }) else { return [] }
                return lines[(title + 1)...].prefix { $0.hasSuffix("  me") }.map { $0.prefix(1) }
            }
            try eventually("all three") { keys().count == 3 }
            terminal.type(">")
            try eventually("by key") { keys() == ["a", "b", "c"] }
            terminal.type("I")
            try eventually("turned") { keys() == ["c", "b", "a"] }
            terminal.type("I\u{1B}[17~>")
            try eventually("by the total") {
                keys() == ["b", "a", "c"]
                    && screen(terminal).lines.contains { $0.contains("TOTAL↓  LAST BY") }
            }
            terminal.type("<<\t>\u{1B}[B")
            try eventually("the clients' table, too") {
                let lines = screen(terminal).lines
                return lines.contains { $0.hasPrefix("KEY↓") } && lines.contains { $0.hasPrefix("CLIENT↓") }
                    && lines[23].contains("clients: ↑ ↓ scroll")
            }
            terminal.type("\u{1B}[21~")
            #expect(try top.finished().end == .exited(0))
        }

        @Test(
            "whatever ends it, the terminal is as it was",
            arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGABRT, SIGILL]
        )
        func signals(number: Int32) throws {
            let terminal = try TestTerminal()
            let top = try top(on: terminal)
            top.signal(number)
            let end = try top.finished().end
            let isFatal = [SIGSEGV, SIGABRT, SIGILL].contains(number)
            #expect(end == (isFatal ? .signalled(number) : .exited(0)))
            let after = screen(terminal)
            #expect(!after.isAlternate && after.showsCursor && after.wraps && after.complaints == [])
            #expect(terminal.isPlain)
        }

        @Test("with --no-reconnect, when the broker goes, the terminal is as it was and shows the reason")
        func brokerStops() throws {
            let terminal = try TestTerminal()
            let top = try top(on: terminal, "--no-reconnect")
            broker.signal(SIGTERM)
            #expect(try top.finished().end == .exited(69))
            #expect(terminal.isPlain)
            let words = try #require(terminal.shown().components(after: "\u{1B}[?1049l"))
            #expect(words.hasPrefix("plugboard top: the broker closed the connection: "))
        }

        @Test("if the broker goes, it waits for it and shows that, and goes on when it is back")
        func brokerComesBack() throws {
            let terminal = try TestTerminal()
            let top = try top(on: terminal)
            try publish("before", times: 3)
            // A broker that is killed earlier takes writes with it of which top hasn't heard.
            try eventually("a key") {
                screen(terminal).lines.contains { $0.hasPrefix("before  ") && $0.hasSuffix("  3  me") }
            }
            broker.signal(SIGKILL)
            _ = try broker.finished()
            try eventually("it says so") {
                screen(terminal).lines[1] == "the broker is gone; waiting for it to come back"
            }
            let next = try startBroker(in: folder)
            try eventually("its figures") { screen(terminal).lines[1].hasPrefix("writes ") }
            try publish("after", times: 2)
            try eventually("both keys, and one client") {
                let lines = screen(terminal).lines
                return lines.contains { $0.hasPrefix("before  ") && $0.hasSuffix("  3  me") }
                    && lines.contains { $0.hasPrefix("after  ") && $0.hasSuffix("  2  me") }
                    && lines.contains { $0.hasPrefix("top  ") && $0.hasSuffix("  1") }
                    && lines.filter { $0.contains("  live ") }.count == 1
            }
            terminal.type("q")
            #expect(try top.finished().end == .exited(0))
            #expect(screen(terminal).complaints == [] && terminal.isPlain)
            _ = next
        }

        @Test("the rates above and below count the same time: a burst is as fast in both")
        func burst() throws {
            let top = try Run(["top", "--every", "0.5"], in: folder)
            try eventually("a line") { top.output.contains("\n") }
            try publish("burst", times: 2_000)
            try eventually("it is told") { top.output.contains("busiest burst ") }
            try eventually("it is over") { top.output.contains("busiest burst 0/s") }
            top.signal(SIGINT)
            let told = try top.finished().lines.compactMap {
                $0.firstMatch(of: /writes ([\d.,]+)\/s.*busiest burst ([\d.,]+)\/s/)
            }
            // An event that `every` holds back comes half a period later, or on a busy machine in the
            // next period. So not every line has the burst in both columns. Each look of `top` is a
            // write, too.
            let both = told.map { (above: number($0.1), below: number($0.2)) }.filter { $0.below > 100 }
            let isAlike = both.contains { $0.above >= $0.below * 0.95 && $0.above <= $0.below * 1.3 }
            #expect(isAlike, "\(told.map(\.0))")
        }

        private func number(_ text: Substring) -> Double { Double(text.filter { $0 != "," }) ?? -1 }

        @Test("clients that are behind or paused come first, with a mark; warnings come last")
        func trouble() throws {
            let stuck = try BrokerConnection(path: folder.socket)
            let banner = try BrokerConnection(path: folder.socket)
            for (connection, name) in [(stuck, "stuck"), (banner, "banner")] {
                try connection.expectGreeting()
                _ = try connection.accepted(ObjectWriter(op: "hello").adding("name", string: name))
                _ = try connection.accepted(ObjectWriter(op: "subscribe").adding("key", string: "**"))
            }
            _ = try banner.accepted(ObjectWriter(op: "pause").adding("sub", 1))
            let value = "\"\(String(repeating: "x", count: 100_000))\""
            _ = try run(
                "publish",
                "--from",
                "-",
                input: (0..<80).map { "{\"key\":\"k.\($0 % 3)\",\"value\":\(value)}\n" }.joined()
            )
            var cause: UInt64?
            for number in 0..<40 {
                let write = ObjectWriter(op: "publish").adding("key", string: "loop.\(number % 2)")
                    .adding("value", json: Array("1".utf8)[...]).adding("cause", cause)
                cause = try banner.accepted(write)["revision"]?.integer
            }
            let terminal = try TestTerminal()
            let top = try top(on: terminal, environment: [:])
            try eventually("all of it is shown") {
                screen(terminal).lines.contains { $0.contains("a loop of causes") }
            }
            let lines = screen(terminal).lines
            let title = try #require(lines.firstIndex { $0.hasPrefix("CLIENT ") })
            #expect(
                lines[title].hasSuffix("STATE    QUEUED  OWED  LINES/s  SENT/s  SUBS    PID  NO")
                    || lines[title].contains("OWED")
            )
            #expect(lines[title + 1].contains(/^stuck +lagging +\d[\d.]* [kM]B +\d/))
            #expect(lines[title + 2].contains(/^banner +paused +/))
            #expect(lines[title + 3].contains(/^top +live +/))
            #expect(lines[22].contains("a loop of causes: loop."))
            #expect(terminal.written().contains("\u{1B}[33mstuck"))
            #expect(lines[1].contains("clients 3 (1 slow)"))
            terminal.type("q")
            _ = try top.finished()
            let report = try run("top", "--once").lines
            #expect(
                report.contains { $0.hasPrefix("stuck ") }
                    && report.last?.contains("a loop of causes") == true
            )
            let line = try Run(["top"], in: folder)
            try eventually("a line") { line.output.contains("\n") }
            #expect(line.output.contains("  slow stuck  paused banner  warnings 1\n"))
            line.signal(SIGTERM)
            _ = try line.finished()
        }

        @Test("when it is stopped it gives the terminal back, and takes it again when it continues")
        func stopped() throws {
            let terminal = try TestTerminal()
            let top = try top(on: terminal)
            try publish("before")
            try eventually("a key") { screen(terminal).lines.contains { $0.hasPrefix("before  ") } }
            top.signal(SIGTSTP)
            try eventually("it is stopped") { Processes.fields(top.pid)?[0] == "T" }
            #expect(terminal.isPlain)
            #expect(!screen(terminal).isAlternate)
            top.signal(SIGCONT)
            try eventually("it is back") {
                let shown = screen(terminal)
                return shown.isAlternate && shown.lines.contains { $0.hasPrefix("before  ") }
            }
            #expect(!terminal.isPlain)
            top.signal(SIGTSTP)
            try eventually("it is stopped again") { Processes.fields(top.pid)?[0] == "T" }
            top.signal(SIGCONT)
            terminal.type("q")
            #expect(try top.finished().end == .exited(0))
        }

        @Test("a terminal of another size gets a new picture")
        func resized() throws {
            let terminal = try TestTerminal(columns: 80, rows: 24)
            let top = try top(on: terminal)
            for number in 0..<30 { try publish("key.\(number)") }
            try eventually("as many keys as fit") {
                screen(terminal).lines.contains { $0.contains(/^KEY \(\d+ of 30\)/) }
            }
            for (columns, rows) in [(40, 10), (200, 50), (20, 5), (10, 2), (80, 24)] {
                let before = terminal.written().utf8.count
                try terminal.resize(columns: UInt16(columns), rows: UInt16(rows))
                top.signal(SIGWINCH)
                // After the screen is cleared, everything is drawn again.
                try eventually("it is drawn for \(columns)x\(rows)") {
                    let text = String(terminal.written().utf8.dropFirst(before)) ?? ""
                    guard let drawn = text.components(after: "\u{1B}[2J") else { return false }
                    let shown = TestScreen(columns: columns, rows: rows, showing: drawn)
                    // The bytes so far may end within a sequence.
                    return shown.lines[0].hasPrefix("plugboard") && shown.complaints == []
                }
            }
            terminal.type("q")
            #expect(try top.finished().end == .exited(0))
        }

        @Test("p freezes the picture until the next p")
        func held() throws {
            let terminal = try TestTerminal()
            let top = try top(on: terminal)
            terminal.type("p")
            try eventually("held") { screen(terminal).lines[23].hasPrefix("held; p goes on") }
            try publish("later")
            terminal.type("p")
            try eventually("going on") { screen(terminal).lines.contains { $0.hasPrefix("later  ") } }
            terminal.type("q")
            _ = try top.finished()
        }

        @Test(
            "no control byte of a key or a name reaches the screen, and wide characters stay in their columns"
        )
        func hostile() throws {
            let terminal = try TestTerminal()
            let top = try top(on: terminal, environment: [:])
            _ = try run("publish", "k.\u{202E}\u{2066}b", "1", "--name", "e\u{202E}ve")
            _ = try run("publish", "漢字.한글.👍🏽", "1", "--name", "名前")
            _ = try run("publish", "e\u{301}.\u{301}x", "1")
            _ = try run(
                "publish",
                String(repeating: "x", count: 256),
                "1",
                "--name",
                String(repeating: "y", count: 64)
            )
            try eventually("all four") {
                let lines = screen(terminal).lines
                // A key is there before its writer's name is known.
                return ["k.\\u", "漢字", "e\u{301}", "xxx"].allSatisfy { key in
                    lines.contains { $0.hasPrefix(key) }
                } && lines.contains { $0.hasSuffix("名前") } && lines.contains { $0.hasSuffix("e\\u202eve") }
            }
            let shown = screen(terminal)
            #expect(shown.complaints == [])
            #expect(
                shown.lines.contains { $0.hasPrefix("k.\\u202e\\u2066b  ") && $0.hasSuffix("e\\u202eve") }
            )
            #expect(shown.lines.contains { $0.hasPrefix("漢字.한글.👍🏽  ") && $0.hasSuffix("名前") })
            #expect(!terminal.written().unicodeScalars.contains("\u{202E}"))
            terminal.type("q")
            _ = try top.finished()
        }

        @Test("only keys that match the pattern are counted")
        func pattern() throws {
            let terminal = try TestTerminal()
            let top = try top(on: terminal, "cart.*")
            try publish("other", times: 5)
            try publish("cart.items", times: 2)
            try eventually("the key") { screen(terminal).lines.contains { $0.hasPrefix("cart.items  ") } }
            #expect(!screen(terminal).lines.contains { $0.hasPrefix("other") })
            terminal.type("q")
            _ = try top.finished()
            #expect(try run("top", "a.**.b", "--once").messages.contains("bad_pattern"))
        }

        @Test("without a terminal it prints one line per period, until a signal")
        func plain() throws {
            let top = try Run(["top", "--every", "0.1"], in: folder)
            try eventually("two lines") { top.output.split(separator: "\n").count >= 2 }
            try publish("a.key", times: 4)
            try eventually("the key") { top.output.contains("busiest a.key ") }
            top.signal(SIGINT)
            let finished = try top.finished()
            #expect(finished.end == .exited(0))
            for line in finished.lines {
                #expect(line.prefixMatch(of: #/\d\d:\d\d:\d\d\.\d\d\dZ  /#) != nil)
                #expect(line.contains("/s  ") && line.contains("  slow none  warnings 0"))
                #expect(!line.unicodeScalars.contains("\u{1B}"))
            }
            let dumb = try TestTerminal()
            let second = try Run(
                ["top", "--every", "0.1"], in: folder, environment: ["TERM": "dumb"], terminal: dumb.path
            )
            try eventually("lines") { dumb.shown().contains("warnings 0\n") }
            second.signal(SIGTERM)
            _ = try second.finished()
            #expect(!dumb.written().unicodeScalars.contains("\u{1B}"))
        }

        @Test("line output ends with its reader")
        func readerGone() throws {
            let finished = try Run(
                program: "/bin/bash",
                ["-c", #"set -o pipefail; "$0" top --every 0.1 | head -1; echo $?"#, Products.plugboard],
                in: folder
            )
            .finished()
            #expect(finished.lines.count == 2)
            #expect(finished.lines.last == "0")
        }

        @Test("--once prints one report, on a terminal too, and ends")
        func once() throws {
            let finished = try run("top", "--once", "--every", "0.2")
            #expect(finished.end == .exited(0))
            #expect(finished.lines.first == "plugboard top at \(folder.socket)")
            #expect(
                finished.lines.contains("no key has changed within 0.2 seconds; plugboard keys lists all"))
            let terminal = try TestTerminal()
            let shown = try Run(["top", "--once", "--every", "0.2"], in: folder, terminal: terminal.path)
            _ = try shown.finished()
            #expect(terminal.shown().hasPrefix("plugboard top at "))
            #expect(!terminal.written().unicodeScalars.contains("\u{1B}"))
        }

        @Test("an invalid period is a usage error, and without a broker it says so on an untouched terminal")
        func failures() throws {
            #expect(try run("top", "--every", "0.05").end == .exited(64))
            #expect(try run("top", "--every", "0").end == .exited(64))
            let nowhere = try TemporaryFolder()
            let terminal = try TestTerminal()
            let finished = try Run(
                ["top"], in: nowhere, environment: ["NO_COLOR": "1"], terminal: terminal.path, typing: true
            ).finished()
            #expect(finished.end == .exited(69))
            #expect(terminal.written().hasPrefix("plugboard top: no broker at "))
        }
    }

    extension String {
        /// The text after the last of these words.
        fileprivate func components(after word: String) -> String? {
            ranges(of: word).last.map { String(self[$0.upperBound...]) }
        }
    }
#endif
