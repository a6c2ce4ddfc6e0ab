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
        test.hub.requests = Requests(visitsMax: .max)
        for number in 0..<Self.keys {
            test.take("publish k.\(number) \(number)", from: writer)
            if number % 1000 == 0 { test.endTurn() }
        }
        test.endTurn()
    }

    private func subscribe(_ options: String) {
        test.take(
            #"{"op":"subscribe","key":"**","where":{"":{">=":\#(Self.keys - 2)}}\#(options)}"#,
            from: observer
        )
    }

    /// Goes on until everything is sent. Returns in how many slices the snapshot was made, and the lines.
    private func settle() -> (slices: Int, lines: [String]) {
        var slices = 0
        test.hub.requests.beginPart(until: 0)
        while test.hub.sessions[observer].isBusy {
            slices += 1
            test.hub.goOnWithWalks()
        }
        test.hub.requests.beginPart(until: .max)
        return (slices, test.allLines(of: observer))
    }

    @Test(
        "are held against the conditions a part at a time, and come to the same",
        arguments: ["", #","old":true"#, #","delivery":"all""#]
    )
    func parts(options: String) throws {
        subscribe(options)
        #expect(test.lines(of: observer).isEmpty)
        let (slices, lines) = settle()
        #expect(slices >= Self.keys * Filter.stepsMin * 3 / FilterEvaluator.examinedStepsMax - 1)
        #expect(lines.count == 4)
        #expect(try #require(lines.first).contains(#""ok":"subscribe""#))
        #expect(lines.compactMap { number("value", in: $0) } == [Self.keys - 2, Self.keys - 1])
        #expect(lines.dropFirst().allSatisfy { $0.contains(#""initial":true"#) || $0.contains("synced") })
        #expect(try #require(lines.last).contains("synced"))
    }

    @Test("are told as the keys are by then: what came to match once, what ceased to not at all")
    func changes() {
        subscribe("")
        let (first, last) = (Self.keys - 3, Self.keys - 1)
        test.take("publish k.\(first) \(Self.keys)", from: writer)
        test.take("publish k.\(last) 0", from: writer)
        test.take("delete k.\(Self.keys - 4)", from: writer)
        let told = settle().lines.filter { $0.contains("value") }
        #expect(told.compactMap { number("value", in: $0) } == [Self.keys - 2, Self.keys])
        test.take("publish k.\(first) 0", from: writer)
        #expect(test.lines(of: observer).map { $0.contains(#""event":"leave""#) } == [true])
    }
}
