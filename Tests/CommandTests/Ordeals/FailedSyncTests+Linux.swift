// A failing disk without root: the broker's process starts with a filter of the kernel
// (seccomp) that answers every fdatasync with EIO. Everything else is the real program.

#if os(Linux)
    import PlugboardPosix
    import TestSupport
    import Testing

    @testable import plugboard

    @Suite("a broker whose disk fails", .someAtATime)
    struct FailedSyncTests {
        /// Runs a program with a filter that makes fdatasync fail, in it and in all programs that it
        /// starts.
        private static let withoutSync = #"""
            my ($prctl, $fdatasync) = `uname -m` =~ /x86_64/ ? (157, 75) : (167, 83);
            my $filter = pack("SCCL" x 4, 0x20, 0, 0, 0, 0x15, 0, 1, $fdatasync, 0x06, 0, 0, 0x50005, 0x06, 0, 0, 0x7fff0000);
            my $program = pack("Sx6Q", 4, unpack("Q", pack("P", $filter)));
            syscall($prctl, 38, 1, 0, 0, 0) == 0 && syscall($prctl, 22, 2, $program) == 0 or die "no filter: $!";
            exec @ARGV or die "$ARGV[0]: $!";
            """#
        private static let perl = "/usr/bin/perl"
        private static let isPossible =
            FileStatus.isRunnable(path: perl)
            && FileStatus(path: "/proc/sys/kernel/seccomp/actions_avail").kind == .file

        @Test(
            "says so, answers nothing as durable, ends with status 74, and recovers what is on disk",
            .enabled(if: isPossible, "there is no perl, or no seccomp")
        )
        func failedSync() throws {
            let folder = try TemporaryFolder()
            let state = "\(folder.path)/journal"
            let keeping = [
                "broker", "--ready", "--socket", folder.socket, "--state", state, "--sync", "never",
            ]
            let broker = try Run(
                program: Self.perl, ["-e", Self.withoutSync, Products.plugboard] + keeping, in: folder
            )
            try eventually("the broker listens") { broker.output == "ready\n" }
            let (observer, writer) = (try LinePeer(path: folder.socket), try LinePeer(path: folder.socket))
            try observer.send(Array("subscribe $broker.warnings\npublish told 1\n".utf8))
            var lines = [try observer.text()]
            while lines.last?.hasPrefix(#"{"ok":"publish""#) == false { lines.append(try observer.text()) }
            try writer.send(
                Array((#"{"op":"publish","id":1,"key":"b","value":2,"durable":true}"# + "\n").utf8)
            )
            let warned = [try observer.text(), try observer.text()]
            #expect(
                warned[0].contains(#""key":"$broker.warnings""#) && warned[0].contains(#""kind":"storage""#)
            )
            #expect(warned[0].contains("Input/output error"))
            #expect(warned[1].hasPrefix(#"{"event":"bye","reason":"stopping""#))
            #expect(try writer.text().hasPrefix(#"{"event":"hello""#))
            #expect(try writer.text().hasPrefix(#"{"event":"bye","reason":"stopping""#))
            let finished = try broker.finished()
            #expect(finished.end == .exited(74))
            #expect(finished.messages.contains("the journal can't be kept: fsync"))
            let next = try startBroker(in: folder, "--state", state)
            #expect(try plugboard("get", "told", in: folder).output == "1\n")
            next.signal(SIGTERM)
            #expect(try next.finished().end == .exited(0))
        }
    }
#endif
