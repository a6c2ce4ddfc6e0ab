// Signals that a broker and `up` get from outside, and the signal of a write that goes past `ulimit -f`.

#if os(Linux)
    import PlugboardPosix
    import TestSupport
    import Testing

    @testable import plugboard

    @Suite("Signals", .someAtATime)
    final class SignalTests: ShopSuite {
        private static let stray: [Int32] = [
            SIGUSR1, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPIPE, SIGXFSZ, SIGSTKFLT, 34, 64,
        ]

        private func start(_ command: String) throws -> Run {
            command == "up" ? try shop.up() : try startBroker(in: shop.folder)
        }

        private func expectServed(_ value: Int) throws {
            #expect(try plugboard("publish", "a", "\(value)", in: shop.folder).end == .exited(0))
            #expect(try plugboard("get", "a", in: shop.folder).output == "\(value)\n")
        }

        @Test("those that ask nothing of a broker or of up change nothing", arguments: ["broker", "up"])
        func ignored(command: String) throws {
            let run = try start(command)
            for number in Self.stray { run.signal(number) }
            try expectServed(1)
            #expect(run.isRunning)
            run.signal(SIGTERM)
            #expect(try run.finished().end == .exited(0))
        }

        @Test(
            "those that ask for the end are a clean end, and no socket is left",
            arguments: ["broker", "up"],
            [SIGINT, SIGTERM, SIGQUIT, SIGPWR, SIGXCPU]
        )
        func ending(command: String, number: Int32) throws {
            let run = try start(command)
            run.signal(number)
            #expect(try run.finished().end == .exited(0))
            #expect(!shop.folder.exists("s"))
        }

        @Test("SIGUSR2 to up makes its broker begin anew")
        func passedOn() throws {
            let up = try shop.up()
            try expectServed(1)
            up.signal(SIGUSR2)
            try eventually("the broker has begun anew") {
                (up.output + up.messages).contains("begun anew")
            }
            #expect(try plugboard("get", "a", in: shop.folder).output == "1\n")
        }

        @Test(
            "those that ask for the end come through although nobody reads what a command prints",
            arguments: [["record", "**"], ["ping", "--interval", "0.0001"]],
            [SIGTERM, SIGINT]
        )
        func unread(words: [String], number: Int32) throws {
            let broker = try startBroker(in: shop.folder, "--memory")
            let command = try TestProgram(
                Products.plugboard,
                words,
                environment: ["PLUGBOARD_SOCKET": shop.folder.socket],
                output: .pipe
            )
            try eventually("it is a client") { try client(of: command) != nil }
            // More than a pipe and both sockets take.
            let text = String(repeating: "x", count: 1_000)
            let lines = (0..<3_000).map { "{\"key\":\"k.\($0)\",\"value\":\"\(text)\"}\n" }
            let file = try shop.folder.write("many", lines.joined())
            #expect(try plugboard("publish", "--from", file, in: shop.folder).end == .exited(0))
            try eventually("it waits for its reader") {
                let before = try client(of: command)
                usleep(200_000)
                return try before != nil && before == client(of: command)
            }
            command.signal(number)
            try eventually("it has ended") { !command.isRunning }
            #expect(command.status == 0)
            _ = broker
        }

        @Test(
            "those that ask for the end are a clean end of each command that runs until then",
            arguments: [
                ["subscribe", "*"], ["get", "a", "--watch"], ["trace", "*"], ["record", "*"], ["ping"],
                ["subscribe", "*", "--exec", "--", "true"], ["serve", "b", "--", "true"],
            ],
            [SIGINT, SIGTERM]
        )
        func watching(words: [String], number: Int32) throws {
            let broker = try startBroker(in: shop.folder, "--memory")
            defer { withExtendedLifetime(broker) {} }
            #expect(try plugboard("publish", "a", "1", in: shop.folder).end == .exited(0))
            let command = try Run(words, in: shop.folder)
            try eventually("the broker has its request") {
                try plugboard("clients", "--json", in: shop.folder).lines.contains {
                    $0.contains("\"pid\":\(command.pid),") && !$0.contains("\"lines\":0,")
                }
            }
            command.signal(number)
            let finished = try command.finished()
            #expect(finished.end == .exited(0), "\(words[0]): \(finished.messages)")
        }

        @Test("a command that has something to reach is cut off by Ctrl-C")
        func cutOff() throws {
            let broker = try startBroker(in: shop.folder, "--memory")
            defer { withExtendedLifetime(broker) {} }
            let words = ["-c", #""$0" wait never & p=$!; sleep 0.3; kill -TERM $p; wait $p; echo $?"#]
            let finished = try Run(program: "/bin/sh", words + [Products.plugboard], in: shop.folder)
                .finished()
            #expect(finished.output == "\(128 + SIGTERM)\n")
        }

        /// What the broker says of a command.
        private func client(of command: TestProgram) throws -> String? {
            try plugboard("clients", "--json", in: shop.folder).lines.first {
                $0.contains("\"pid\":\(command.pid),")
            }
        }

        /// Starts a program that may write files of at most so many bytes.
        private func limited(to bytes: Int, _ words: [String]) throws -> Run {
            let script = "ulimit -f \(bytes / 512); exec \"$@\""
            return try Run(
                program: "/bin/sh", ["-c", script, "sh", Products.plugboard] + words, in: shop.folder
            )
        }

        @Test("a journal that may get no larger is a full disk: writes get storage, and all else goes on")
        func journal() throws {
            let words = ["broker", "--ready", "--socket", shop.folder.socket]
            let broker = try limited(to: 300 * 1_024, words)
            try eventually("the broker listens") { broker.output == "ready\n" }
            let peer = try LinePeer(path: shop.folder.socket)
            _ = try peer.text()
            let value = String(repeating: "x", count: 20_000)
            var kept = 0
            while kept < 100 {
                try peer.send("{\"op\":\"publish\",\"id\":1,\"key\":\"k\(kept)\",\"value\":\"\(value)\"}\n")
                let answer = try peer.text()
                if answer.hasPrefix(#"{"error":"storage""#) { break }
                #expect(answer.hasPrefix(#"{"ok":"publish""#))
                kept += 1
            }
            #expect((1..<100).contains(kept))
            try peer.send("{\"op\":\"get\",\"id\":1,\"key\":\"k0\"}\n")
            #expect(try peer.text().hasPrefix(#"{"ok":"get""#))
            #expect(broker.isRunning)
            broker.signal(SIGTERM)
            #expect(try broker.finished().end == .exited(0))
            let next = try startBroker(in: shop.folder)
            #expect(try plugboard("keys", "*", in: shop.folder).lines.count == kept)
            withExtendedLifetime(next) {}
        }

        @Test("a dump and a recording that may get no larger end with an error")
        func files() throws {
            let broker = try startBroker(in: shop.folder)
            let value = "\"\(String(repeating: "x", count: 20_000))\""
            #expect(try plugboard("publish", "a", value, in: shop.folder).end == .exited(0))
            // What they print goes into a file.
            for words in [["dump"], ["record", "**"]] {
                let finished = try limited(to: 1_024, words).finished()
                #expect(finished.end == .exited(1), "\(words)")
                #expect(finished.messages.contains("File too large"), "\(words)")
            }
            withExtendedLifetime(broker) {}
        }
    }
#endif
