// A broker and the files of its socket: those of other programs, and those that somebody removes.

#if os(Linux)
    import PlugboardPosix
    import TestSupport
    import Testing

    @testable import plugboard

    @Suite("The place of a socket", .someAtATime)
    final class SocketPlaceTests: FolderSuite {
        private func status(_ path: String) -> FileIdentity? { FileIdentity(path: path) }

        /// Starts a second program there and expects that it leaves the socket alone.
        private func expectLeftAlone(_ command: String, _ kind: String) throws -> Finished {
            let before = status(folder.socket)
            let finished = try run(command, "--memory", "--socket", folder.socket)
            #expect(finished.end == .exited(69), "\(kind)")
            #expect(finished.messages.contains("something else listens at \(folder.socket)"), "\(kind)")
            #expect(status(folder.socket) == before, "\(kind)")
            return finished
        }

        @Test("a socket that any other program has open is left alone", arguments: ["broker", "up"])
        func taken(command: String) throws {
            do {
                let stream = try UnixSocket.listen(path: folder.socket)
                _ = try expectLeftAlone(command, "stream")
                // Nobody has connected, so nothing was started on behalf of that.
                guard case .none = try UnixSocket.accept(stream.raw) else {
                    Issue.record("somebody connected")
                    return
                }
            }
            do {
                let full = try FullQueue(path: folder.socket)
                _ = try expectLeftAlone(command, "full")
                withExtendedLifetime(full) {}
            }
            for type in [SOCK_DGRAM, SOCK_SEQPACKET] {
                SystemCalls.remove(folder.socket)
                let other = try SystemCalls.bindSocket(folder.socket, type: Int32(type.rawValue))
                _ = try expectLeftAlone(command, "\(type)")
                withExtendedLifetime(other.raw) {}
            }
            // What nobody has open any more is replaced.
            #expect(folder.exists("s"))
            let broker = try startBroker(in: folder)
            #expect(try run("publish", "a", "1").end == .exited(0))
            withExtendedLifetime(broker) {}
        }

        @Test("systemd's socket that nobody has connected to is left alone, and its command is named")
        func unit() throws {
            let listener = try UnixSocket.listen(path: folder.socket)
            try folder.write(
                "config/systemd/user/shop.socket",
                "[Socket]\nListenStream=\(folder.socket)\nSocketMode=0600\n"
            )
            let variables = ["XDG_CONFIG_HOME": "\(folder.path)/config"]
            let finished = try run("broker", "--socket", folder.socket, environment: variables)
            #expect(finished.end == .exited(69))
            #expect(finished.messages.contains("systemctl --user start shop.service"))
            let relative = try run("broker", "--socket", "s", environment: variables)
            #expect(relative.messages.contains("systemctl --user start shop.service"))
            withExtendedLifetime(listener.raw) {}
        }

        @Test("without the file of its lock a path has one broker all the same")
        func lock() throws {
            let broker = try startBroker(in: folder)
            SystemCalls.remove(folder.socket + ".lock")
            #expect(try run("broker", "--memory", "--socket", folder.socket).end != .exited(0))
            try eventually("the lock is there again") { folder.exists("s.lock") }
            #expect(try run("publish", "a", "1").end == .exited(0))
            // By the lock, or by the socket in the moment before the lock is held again.
            let second = try run("broker", "--memory", "--socket", folder.socket).end
            #expect([.exited(1), .exited(69)].contains(second))
            broker.signal(SIGTERM)
            #expect(try broker.finished().end == .exited(0))
            #expect(!folder.exists("s"))
        }

        @Test("a socket that was removed is there again, and clients stay", arguments: ["broker", "up"])
        func removed(command: String) throws {
            let broker = try Run([command, "--memory", "--socket", folder.socket], in: folder)
            try eventually("it serves") { try run("publish", "a", "1").end == .exited(0) }
            let client = try LinePeer(path: folder.socket)
            _ = try client.text()
            for count in 1...2 {
                SystemCalls.remove(folder.socket)
                try eventually("it serves again") { try run("get", "a").output == "1\n" }
                let told = (broker.output + broker.messages).split(separator: "\n")
                #expect(told.count { $0.contains("the socket at \(folder.socket) was removed") } == count)
            }
            #expect(TemporaryFolder.mode(folder.socket) == 0o600)
            try client.send("get a\n")
            #expect(try client.text().hasPrefix(#"{"ok":"get""#))
            broker.signal(SIGTERM)
            #expect(try broker.finished().end == .exited(0))
            #expect(!folder.exists("s"))
        }

        @Test("a socket in whose place another program listens is left to it until that ends")
        func replaced() throws {
            let broker = try Run(["broker", "--memory", "--socket", folder.socket], in: folder)
            try eventually("it serves") { try run("publish", "a", "1").end == .exited(0) }
            SystemCalls.remove(folder.socket)
            do {
                let other = try UnixSocket.listen(path: folder.socket)
                let identity = status(folder.socket)
                try eventually("it says so") {
                    broker.messages.contains("something else listens at \(folder.socket)")
                }
                #expect(status(folder.socket) == identity)
                withExtendedLifetime(other.raw) {}
            }
            try eventually("it serves again") { try run("get", "a").output == "1\n" }
            SystemCalls.remove(folder.socket)
            let other = try UnixSocket.listen(path: folder.socket)
            broker.signal(SIGTERM)
            #expect(try broker.finished().end == .exited(0))
            #expect(folder.exists("s"))
            withExtendedLifetime(other.raw) {}
        }

        @Test("after a restart the socket is still known as its own, and only that one is removed")
        func restarted() throws {
            for isReplaced in [false, true] {
                let broker = try startBroker(in: folder)
                #expect(try run("restart").end == .exited(0))
                let pause = isReplaced ? try replace() : nil
                broker.signal(SIGTERM)
                #expect(try broker.finished().end == .exited(0))
                #expect(folder.exists("s") == isReplaced)
                withExtendedLifetime(pause) {}
            }
        }

        private func replace() throws -> FullQueue {
            SystemCalls.remove(folder.socket)
            return try FullQueue(path: folder.socket)
        }

        @Test("a time limit includes connecting where too many clients wait to be accepted")
        func fullQueue() throws {
            let full = try FullQueue(path: folder.socket)
            for words in [["get", "a"], ["publish", "a", "1"], ["status"]] {
                let finished = try Run(words + ["--timeout", "0.2"], in: folder).finished()
                #expect(finished.end == .exited(69), "\(words)")
                #expect(finished.messages.contains("too many clients wait to be accepted"), "\(words)")
                #expect(!finished.messages.contains("start one"), "\(words)")
            }
            withExtendedLifetime(full) {}
        }

        @Test(
            "where permission is denied, the folder and its owner are named",
            .enabled(if: Stranger.isPossible)
        )
        func denied() throws {
            let outer = try TemporaryFolder()
            SystemCalls.setMode(outer.path, 0o755)
            try Folder.make(outer("closed"), mode: 0o700)
            try outer.write("closed/s", "")
            let owner = Accounts.name(of: 0) ?? "0"
            let cases: [([String], String)] = [
                (["get", "a"], "may not enter it"), (["publish", "a", "1"], "may not enter it"),
                (["broker", "--memory"], "may not enter it"),
            ]
            for (words, reason) in cases {
                let finished = try stranger(words + ["--socket", outer("closed/s")])
                #expect(finished.end == .exited(69), "\(words)")
                let message = "the folder \(outer("closed")) belongs to \(owner), and this user \(reason)"
                #expect(finished.messages.contains(message), "\(words) \(finished.messages)")
                #expect(!finished.messages.contains("start one"), "\(words)")
            }
            let making = try stranger(["broker", "--memory", "--socket", outer("s")])
            #expect(making.messages.contains("may not make files in it"))
            let open = try TemporaryFolder()
            SystemCalls.setMode(open.path, 0o777)
            let state = try stranger(["broker", "--socket", open("s"), "--state", outer("new/state")])
            #expect(state.end == .exited(1))
            let reason = "the folder \(outer.path) belongs to \(owner), and this user may not make files"
            #expect(state.messages.contains(reason))
            let listener = try UnixSocket.listen(path: outer("own"))
            let socket = try stranger(["get", "a", "--socket", outer("own")])
            #expect(socket.messages.contains("the socket \(outer("own")) belongs to \(owner)"))
            withExtendedLifetime(listener.raw) {}
        }

        private func stranger(_ words: [String]) throws -> Finished {
            try Run(
                program: "/usr/bin/setpriv",
                ["--reuid", "\(Stranger.user)", "--clear-groups", Products.plugboard] + words,
                in: folder
            )
            .finished()
        }
    }
#endif
