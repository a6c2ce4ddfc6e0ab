#if os(Linux)
    import PlugboardPosix
    import TestSupport
    import Testing

    @Suite("A thread's turns", .someAtATime)
    struct TurnTests {
        /// A figure of the calling thread's scheduling; nil if the system doesn't tell it.
        private static func figure(_ name: String) -> String? {
            guard let bytes = try? InputFile.contents(path: "/proc/thread-self/sched", limit: 65_536) else {
                return nil
            }
            let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first {
                $0.hasPrefix(name)
            }
            return line?.split(separator: ":").last.map { $0.filter { !$0.isWhitespace } }
        }

        /// What a thread of its own has before and after `change`.
        private func figures(_ name: String, _ change: @escaping @Sendable () -> Void) throws -> [String?] {
            let found = Shared<[String?]?>(nil)
            try Background.start {
                let before = Self.figure(name)
                change()
                found.set([before, Self.figure(name)])
            }
            try eventually("the thread has looked") { found.get() != nil }
            return found.get() ?? []
        }

        @Test("are short if it takes short ones, and no longer than before where the system has none")
        func short() throws {
            let slices = try figures("se.slice") { Background.takeShortTurns() }
            #expect(slices[0] == nil || slices[1] == "100000" || slices[1] == slices[0])
        }

        @Test("leave its priority as it is")
        func priority() throws {
            let kept = try figures("prio") { Background.takeShortTurns() }
            #expect(kept[0] == kept[1])
            let yielding = try figures("prio") {
                Background.yieldToOthers()
                Background.takeShortTurns()
            }
            #expect(yielding[0] == nil || yielding[0] != yielding[1])
        }
    }
#endif
