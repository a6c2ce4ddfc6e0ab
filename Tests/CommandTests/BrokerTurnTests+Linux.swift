#if os(Linux)
    import TestSupport
    import Testing

    @Suite("The turns of a broker", .someAtATime)
    final class BrokerTurnTests: BrokerSuite {
        @Test(
            "are short, so that it waits less for a processor",
            .enabled(if: ThreadSchedule.hasTurns, "this system has no such turns, or doesn't tell them")
        )
        func short() throws {
            try eventually("it serves") {
                ThreadSchedule.figure("se.slice", of: "\(broker.pid)") == "100000"
            }
        }
    }
#endif
