#if os(Linux)
    import TestSupport
    import Testing

    @testable import PlugboardPosix

    @Suite("A handle of a child", .someAtATime)
    struct ProcessHandleTests {
        private struct Late: Error {}

        private func waitUntil(_ condition: () -> Bool) throws {
            let deadline = MonotonicClock.nanoseconds() + 20_000_000_000
            while !condition() {
                guard MonotonicClock.nanoseconds() < deadline else { throw Late() }
                Pause.sleep(seconds: 0.002)
            }
        }

        @Test("is a pidfd if the C library has it, and its signals reach the whole group")
        func group() throws {
            let start = ChildStart(
                program: "/bin/sh", arguments: ["-c", "sleep 1000 & echo $!; wait"], output: .piped
            )
            var child = try ChildProcess(starting: start)
            let handle = ProcessHandle(child: child.pid)
            #expect(handle.isExact == SystemCalls.hasFunction("pidfd_open"))
            var text: [UInt8] = []
            try waitUntil {
                if let fd = child.outputFD { text += PipeCalls.read(fd, upTo: 64).bytes }
                return text.last == 0x0A
            }
            let grandchild = try #require(Int32(String(decoding: text.dropLast(), as: UTF8.self)))
            handle.signalGroup(SIGTERM)
            var end: ChildEnd?
            try waitUntil {
                end = child.end()
                return end != nil
            }
            #expect(end == .signalled(SIGTERM))
            try waitUntil {
                let status = (try? InputFile.contents(path: "/proc/\(grandchild)/stat", limit: 4096)) ?? []
                return status.isEmpty || String(decoding: status, as: UTF8.self).contains(") Z ")
            }
            // The process is gone, and no other process gets the signal.
            handle.signalGroup(SIGKILL)
        }
    }
#endif
