import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("filtered snapshots of very many keys", .computing)
struct FilteredSnapshotTests {
    private static let keys = 20_000
    private let test = BareHub()
    private let (writer, observer): (SessionHandle, SessionHandle)

    init() {
        (writer, observer) = (test.client(), test.client())
        test.hub.requests.limitSlices(visits: .max)
        for number in 0..<Self.keys {
            test.take("publish k.\(number) \(number)", from: writer)
            if number % 1000 == 0 { test.endTurn() }
        }
        test.endTurn()
    }

    private func subscribe(_ options: String) -> [String] {
        test.take(
            #"{"op":"subscribe","key":"**","where":{"":{">=":\#(Self.keys - 2)}}\#(options)}"#,
            from: observer
        )
        return test.lines(of: observer)
    }

    /// Sends everything that is owed. Returns how many rounds that took, and the lines.
    private func settle() -> (rounds: Int, lines: [String]) {
        var (rounds, lines) = (0, test.lines(of: observer))
        while test.hub.sessions[observer].isBehind {
            rounds += 1
            test.hub.settle(observer)
            lines += test.lines(of: observer)
        }
        return (rounds, lines)
    }

    @Test(
        "are held against the conditions a part at a time, and come to the same",
        arguments: ["", #","old":true"#]
    )
    func parts(options: String) throws {
        #expect(subscribe(options).count == 1)
        let (rounds, lines) = settle()
        #expect(rounds >= Self.keys * Filter.stepsMin * 3 / Judge.examinedStepsMax - 1)
        #expect(lines.compactMap { number("value", in: $0) } == [Self.keys - 2, Self.keys - 1])
        #expect(lines.allSatisfy { $0.contains(#""initial":true"#) || $0.contains("synced") })
        #expect(try #require(lines.last).contains("synced"))
    }

    @Test("are told as the keys are by then: what came to match once, what ceased to not at all")
    func changes() {
        _ = subscribe("")
        let (first, last) = (Self.keys - 3, Self.keys - 1)
        test.take("publish k.\(first) \(Self.keys)", from: writer)
        test.take("publish k.\(last) 0", from: writer)
        test.take("delete k.\(Self.keys - 4)", from: writer)
        let told = settle().lines.filter { $0.contains("value") }
        #expect(told.compactMap { number("value", in: $0) } == [Self.keys - 2, Self.keys])
        test.take("publish k.\(first) 0", from: writer)
        #expect(test.lines(of: observer).map { $0.contains(#""event":"leave""#) } == [true])
    }

    @Test("with every event are complete at once")
    func everyEvent() {
        let lines = subscribe(#","delivery":"all""#)
        #expect(lines.count == 4)
        let isBehind = test.hub.sessions[observer].isBehind
        #expect(!isBehind)
    }
}
