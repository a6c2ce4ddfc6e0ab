#if os(Linux)
    import PlugboardPosix
    import TestSupport
    import Testing

    @Suite("A thread's turns", .someAtATime)
    struct TurnTests {
        /// What a thread of its own has before and after `change`.
        private func figures(_ name: String, _ change: @escaping @Sendable () -> Void) throws -> [String?] {
            let found = Shared<[String?]?>(nil)
            try Background.start {
                let before = ThreadSchedule.figure(name)
                change()
                found.set([before, ThreadSchedule.figure(name)])
            }
            try eventually("the thread has looked") { found.get() != nil }
            return found.get() ?? []
        }

        @Test(
            "are short if it takes short ones",
            .enabled(if: ThreadSchedule.hasTurns, "this system has no such turns, or doesn't tell them")
        )
        func short() throws {
            let slices = try figures("se.slice") { Background.takeShortTurns() }
            #expect(slices[0] != "100000" && slices[1] == "100000")
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
