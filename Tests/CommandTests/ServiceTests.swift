// What a service manager expects of a service, with real processes: the service takes over its socket,
// says when it is ready, and sends signs of life.

#if os(Linux)
    import PlugboardPosix
    import TestSupport
    import Testing

    @testable import plugboard

    /// The manager's end: a socket for notices. It has a path or an abstract name.
    private final class Manager {
        let place: String
        private let descriptor: Descriptor

        init(_ place: String) throws {
            self.place = place
            descriptor = try SystemCalls.bindDatagrams(place)
        }

        /// The next notice; nil if none comes in time.
        func next(milliseconds: Int32 = HangGuard.milliseconds) -> String? {
            guard SystemCalls.wait(descriptor.raw, for: Int32(POLLIN), milliseconds: milliseconds) != 0
            else { return nil }
            return String(decoding: PipeCalls.read(descriptor.raw, upTo: 4_096).1, as: UTF8.self)
        }
    }

    @Suite("a service manager", .someAtATime)
    final class ServiceTests: FolderSuite {
        /// Starts `plugboard` as a manager does. A socket that is handed over is descriptor 3.
        private func start(
            _ words: [String], listener: Int32? = nil, _ variables: [String]
        ) throws -> ChildProcess {
            var start = ChildStart(
                program: "/bin/sh",
                arguments: [
                    "-c", #"export LISTEN_PID=$$; exec "$0" "$@" 2>>err"#, Products.plugboard,
                ] + words,
                environment: Environment.all(with: [
                    "XDG_STATE_HOME": "\(folder.path)/state", "PLUGBOARD_SOCKET": folder.path + "/none",
                ]) + variables,
                folder: folder.path
            )
            start.passing = listener
            return try ChildProcess(starting: start)
        }

        private func stop(_ child: inout ChildProcess) throws -> ChildEnd {
            child.signalGroup(SIGTERM)
            let deadline = TimeLimit(seconds: HangGuard.seconds)
            while deadline.milliseconds != nil {
                if let end = child.end() { return end }
                Pause.sleep(seconds: 0.005)
            }
            throw NeverHappened(description: "it ends")
        }

        @Test(
            "hands its socket over: clients that connected before are served, and the socket stays",
            arguments: ["broker", "up"]
        )
        func activation(command: String) throws {
            let listener = try UnixSocket.listen(path: folder.socket)
            let early = try BrokerConnection(path: folder.socket, timeout: 20)
            var child = try start([command, "--memory"], listener: listener.raw, ["LISTEN_FDS=1"])
            try early.expectGreeting()
            #expect(try plugboard("publish", "a", "1", in: folder).end == .exited(0))
            #expect(try plugboard("restart", in: folder).end == .exited(0))
            #expect(try stop(&child) == .exited(0))
            #expect(folder.exists("s"))
            // Nobody is refused while nobody serves. The next broker serves this client.
            let between = try BrokerConnection(path: folder.socket, timeout: 20)
            var next = try start([command, "--memory"], listener: listener.raw, ["LISTEN_FDS=1"])
            try between.expectGreeting()
            #expect(try stop(&next) == .exited(0))
            _ = consume listener
        }

        @Test(
            "is told when the service is ready and when it stops, and gets three signs of life per interval",
            arguments: ["broker", "up"],
            ["path", "abstract"]
        )
        func notices(command: String, kind: String) throws {
            let name = "plugboard-test-\(getpid())-\(Counter.next())"
            let place = kind == "path" ? folder.path + "/notify" : "@\(name)"
            let manager = try Manager(place)
            let words = [command, "--memory", "--socket", folder.socket]
            var child = try start(words, ["NOTIFY_SOCKET=\(place)", "WATCHDOG_USEC=300000"])
            var first = manager.next()
            // The first turn of the loop sends a sign of life before anything else.
            if first == "WATCHDOG=1" { first = manager.next() }
            #expect(first == "READY=1")
            #expect(try plugboard("publish", "a", "1", in: folder).end == .exited(0))
            for _ in 0..<5 { #expect(manager.next() == "WATCHDOG=1") }
            #expect(try stop(&child) == .exited(0))
            var last = manager.next()
            while last == "WATCHDOG=1" { last = manager.next() }
            #expect(last == "STOPPING=1")
        }

        @Test("gets no sign of life from up while its broker hangs")
        func hangs() throws {
            let manager = try Manager(folder.path + "/notify")
            let words = ["up", "--memory", "--socket", folder.socket]
            var child = try start(words, ["NOTIFY_SOCKET=\(manager.place)", "WATCHDOG_USEC=150000"])
            #expect(manager.next() == "READY=1")
            #expect(manager.next() == "WATCHDOG=1")
            let broker = try #require(Processes.children(of: child.pid).first)
            kill(broker, SIGSTOP)
            // Notices that were sent before are ignored. Then nothing may come for ten times as long as a
            // notice takes.
            while manager.next(milliseconds: 500) != nil {}
            #expect(manager.next(milliseconds: 500) == nil)
            kill(broker, SIGCONT)
            #expect(manager.next() == "WATCHDOG=1")
            #expect(try stop(&child) == .exited(0))
        }

        @Test("gets no sign of life if it wants none; its variables aren't passed to children")
        func quiet() throws {
            let manager = try Manager(folder.path + "/notify")
            let words = ["broker", "--memory", "--socket", folder.socket]
            let variables = ["NOTIFY_SOCKET=\(manager.place)", "WATCHDOG_USEC=1000", "WATCHDOG_PID=1"]
            var child = try start(words, variables)
            #expect(manager.next() == "READY=1")
            #expect(try plugboard("publish", "a", "1", in: folder).end == .exited(0))
            #expect(try stop(&child) == .exited(0))
            #expect(manager.next() == "STOPPING=1")
            let shop = try Shop()
            try shop.add("one", #"env | grep -E '^(NOTIFY|WATCHDOG|LISTEN)' ; echo end; exec sleep 100"#)
            let up = try Run(
                ["up"],
                in: shop.folder,
                environment: ["NOTIFY_SOCKET": manager.place, "WATCHDOG_USEC": "1000000"]
            )
            try eventually("it spoke") { up.output.contains("end\n") }
            #expect(up.output == "one    | end\n")
        }

        @Test("that hands over something else is told so")
        func wrong() throws {
            let pair = try UnixSocket.pair()
            var child = try start(["broker", "--memory"], listener: pair.first.raw, ["LISTEN_FDS=1"])
            #expect(try ended(&child) == .exited(1))
            #expect(folder.text("err").contains("no listening Unix socket"))
            let listener = try UnixSocket.listen(path: folder.socket)
            var many = try start(["broker", "--memory"], listener: listener.raw, ["LISTEN_FDS=2"])
            #expect(try ended(&many) == .exited(1))
            #expect(folder.text("err").contains("hands over 2 sockets, not one"))
            let words = ["broker", "--memory", "--socket", folder.path + "/other"]
            var other = try start(words, listener: listener.raw, ["LISTEN_FDS=1"])
            #expect(try ended(&other) == .exited(64))
            _ = consume listener
        }

        private func ended(_ child: inout ChildProcess) throws -> ChildEnd {
            let deadline = TimeLimit(seconds: HangGuard.seconds)
            while deadline.milliseconds != nil {
                if let end = child.end() { return end }
                Pause.sleep(seconds: 0.005)
            }
            throw NeverHappened(description: "it ends")
        }
    }
#endif
