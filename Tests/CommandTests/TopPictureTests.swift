import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("The picture of top", .someAtATime)
struct TopPictureTests {
    /// The value of `$broker.stats` when these totals were reached.
    private static func stats(writes: Int, events: Int, received: Int, sent: Int) -> String {
        """
        {"uptime":75,"revision":96,"keys":1234,"clients":3,"subscriptions":4,"slow":1,\
        "rates":{"lines":1,"writes":1,"events":1,"received":1,"sent":1},\
        "totals":{"lines":0,"writes":\(writes),"events":\(events),"received":\(received),"sent":\(sent)},\
        "memory":5200000,"latency":{"turns":9,"mean":13,"max":850}}
        """
    }

    private func state(keys: Int = 3, clients: Int = 3, warnings: Int = 1) throws -> TopState {
        var state = TopState(title: "plugboard top at /tmp/\u{1B}[31mbus.sock")
        func take(_ key: String, _ value: String) throws {
            let line =
                #"{"event":"update","sub":1,"key":"\#(key)","revision":1,"value":\#(value),"by":"m\u202ee"}"#
            state.take(try #require(BrokerLine(Array(line.utf8)[...])))
        }
        for number in 0..<keys { try take("some.key.漢\(number)", "1") }
        for number in 0..<clients {
            let told = ["live", "lagging", "paused"][number % 3]
            try take(
                "$broker.clients.\(number)",
                #"{"client":\#(number),"name":"client-\#(number)","pid":\#(number + 70),"state":"\#(told)","subscriptions":1,"lines":5,"sent":5,"queued":\#(number * 1000),"owed":2}"#
            )
        }
        try take("$broker.stats", Self.stats(writes: 1_000, events: 20, received: 3, sent: 4))
        try take("$broker.stats", Self.stats(writes: 1_012, events: 2_500, received: 1_203, sent: 99_004))
        let list = (0..<warnings).map {
            #"{"warning":\#($0),"kind":"loop","times":\#($0 + 1),"when":"2026-11-21T13:05:00.123Z","revision":1,"message":"a loop \u001b[2J \#($0)","loop":[]}"#
        }
        try take("$broker.warnings", "[\(list.joined(separator: ","))]")
        state.endPeriod(seconds: 1)
        return state
    }

    private func lines(_ state: TopState, _ columns: Int, _ rows: Int) -> [String] {
        TopPicture(state: state, paint: Paint(isOn: false)).lines(
            size: TerminalSize(columns: columns, rows: rows)
        )
    }

    @Test("everything has its place in 80 columns and 24 rows")
    func standard() throws {
        let lines = lines(try state(), 80, 24)
        #expect(lines.count == 24)
        #expect(
            Array(lines.prefix(13)) == [
                #"plugboard top at /tmp/\u001b[31mbus.sock"#,
                "writes 12/s   events 2,480/s   clients 3 (1 slow)   keys 1,234   memory 5.2 MB",
                "loop 13 µs, at most 850 µs   in 1.2 kB/s   out 99.0 kB/s   subscriptions 4",
                "",
                "KEY           CHANGES/s  TOTAL  LAST BY",
                #"some.key.漢0          1      1  m\u202ee"#,
                #"some.key.漢1          1      1  m\u202ee"#,
                #"some.key.漢2          1      1  m\u202ee"#,
                "",
                "CLIENT    STATE    QUEUED  OWED  LINES/s  SENT/s  SUBS  PID  NO",
                "client-1  lagging  1.0 kB     2        0     0 B     1   71   1",
                "client-2  paused   2.0 kB     2        0     0 B     1   72   2",
                "client-0  live                2        0     0 B     1   70   0",
            ]
        )
        #expect(lines[22] == #"13:05:00.123Z a loop \u001b[2J 0"#)
        let keys = "keys: ↑ ↓ scroll  < > sort  I turns"
        #expect(lines[23].hasPrefix("q leaves   p holds the picture   \(keys)"))
    }

    @Test("it fits every size, however much there is to show")
    func sizes() throws {
        let states = [
            try state(keys: 0, clients: 0, warnings: 0), try state(),
            try state(keys: 99, clients: 99, warnings: 32),
        ]
        for state in states {
            for columns in [1, 2, 9, 20, 40, 79, 80, 131, 132, 200, 400] {
                for rows in [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 19, 20, 24, 50, 100] {
                    for paint in [Paint(isOn: false), Paint(isOn: true)] {
                        let size = TerminalSize(columns: columns, rows: rows)
                        let lines = TopPicture(state: state, paint: paint).lines(size: size)
                        #expect(lines.count == rows, "\(columns)x\(rows)")
                        let plain = lines.map(Paint.without)
                        #expect(plain.allSatisfy { DisplayWidth.of($0) <= columns }, "\(columns)x\(rows)")
                        #expect(plain.allSatisfy { !$0.utf8.contains { $0 < 0x20 || $0 == 0x7F } })
                    }
                }
            }
        }
    }

    @Test("if there is too much, keys and clients share the room, and it says what is left out")
    func crowded() throws {
        let lines = lines(try state(keys: 99, clients: 99, warnings: 32), 80, 24)
        let keys = try #require(lines.firstIndex { $0.contains(/^KEY \(\d+ of 99\)/) })
        let clients = try #require(lines.firstIndex { $0.contains(/^CLIENT \(\d+ of 99\)/) })
        #expect(clients - keys >= 6 && lines[clients + 3].contains(" lagging "))
        // The newest warnings stay, and the last line is the footer.
        #expect(lines[22].contains("[2J 31 (32 times)"))
        #expect(lines[23].hasPrefix("q leaves"))
    }

    @Test("a small screen shows the busiest key and slow clients")
    func small() throws {
        let lines = lines(try state(keys: 20, clients: 20), 40, 10)
        #expect(lines[2].hasPrefix("KEY (2 of 20)"))
        #expect(lines.contains { $0.contains(/^client-\d+ +lagging/) })
        #expect(lines[8].contains("a loop"))
    }

    @Test("on a wide screen keys and clients are beside each other")
    func wide() throws {
        let lines = lines(try state(keys: 20, clients: 20), 160, 30)
        #expect(lines.contains { $0.contains(/^KEY +CHANGES.+ CLIENT +STATE/) })
        #expect(lines[29].hasPrefix("q leaves"))
    }

    @Test("a client's rates count from the moment at which it is first seen")
    func clientRates() throws {
        var client = TopClient(number: 3)
        var periods = RecentPeriods()
        for lines in [1_000, 1_004, 1_010] {
            client.take(try JSONObject(parsing: Array(#"{"name":"a","lines":\#(lines),"sent":7}"#.utf8)[...]))
        }
        client.endPeriod(periods)
        periods.end(seconds: 2)
        #expect(client.lines.rate(periods) == 5)
        #expect(client.sent.rate(periods) == 0)
    }

    @Test("short periods are counted together up to a second, so that no rate jumps")
    func shortPeriods() {
        var total = RecentTotal()
        var count = RecentCount()
        var periods = RecentPeriods()
        total.note(total: 7)
        for tenth in 1...60 {
            count.note(5)
            // Once a second the broker reports what happened in ten periods.
            if tenth % 10 == 0 { total.note(total: 7 + UInt64(tenth) * 5) }
            count.endPeriod(periods)
            total.endPeriod(periods)
            periods.end(seconds: 0.1)
            if tenth >= 40 {
                #expect(abs(count.rate(periods) - 50) < 0.01)
                #expect(total.rate(periods) > 35 && total.rate(periods) < 51)
            }
        }
    }

    private func pressed(_ presses: KeyPress..., in state: TopState, _ rows: Int = 24) -> [String] {
        var view = TopView()
        for press in presses {
            TopPicture(state: state, paint: Paint(isOn: false)).take(press, &view, rows: rows)
        }
        let picture = TopPicture(state: state, paint: Paint(isOn: false), view: view)
        return picture.lines(size: TerminalSize(columns: 80, rows: rows))
    }

    @Test("it scrolls to the last row and no further, and says which rows are in sight")
    func scrolling() throws {
        let state = try state(keys: 99, clients: 99)
        let title = try #require(pressed(in: state).firstIndex { $0.hasPrefix("KEY (8 of 99)") })
        #expect(pressed(.down, in: state)[title].hasPrefix("KEY (2-9 of 99)"))
        #expect(pressed(.pageDown, .pageDown, .up, in: state)[title].hasPrefix("KEY (16-23 of 99)"))
        for presses in [[KeyPress.end], [.end, .down], [.end, .pageDown, .down]] {
            var view = TopView()
            let picture = TopPicture(state: state, paint: Paint(isOn: false))
            for press in presses { picture.take(press, &view, rows: 24) }
            let lines = TopPicture(state: state, paint: Paint(isOn: false), view: view)
                .lines(size: TerminalSize(columns: 80, rows: 24))
            #expect(lines[title].hasPrefix("KEY (92-99 of 99)"))
        }
        #expect(pressed(.end, .home, in: state)[title].hasPrefix("KEY (8 of 99)"))
        #expect(pressed(.up, in: state)[title].hasPrefix("KEY (8 of 99)"))
        #expect(pressed(.letter("\t"), .end, in: state)[title].hasPrefix("KEY (8 of 99)"))
        #expect(pressed(.letter("\t"), .end, in: state).contains { $0.contains(/^CLIENT \(9\d-99 of 99\)/) })
        #expect(pressed(.end, .letter("x"), in: TopState(title: "t")).count == 24)
    }

    @Test("each column sorts, numbers from the largest; after the last one comes the usual order")
    func sorting() throws {
        let state = try state(keys: 3, clients: 3)
        func clients(_ presses: [KeyPress]) -> [Substring] {
            var view = TopView()
            let picture = TopPicture(state: state, paint: Paint(isOn: false))
            for press in [.letter("\t")] + presses { picture.take(press, &view, rows: 24) }
            return TopPicture(state: state, paint: Paint(isOn: false), view: view)
                .lines(size: TerminalSize(columns: 80, rows: 24))
                .filter { $0.hasPrefix("client-") }.map { $0.prefix(8).suffix(1) }
        }
        let next = KeyPress.letter(">")
        #expect(clients([]) == ["1", "2", "0"])
        #expect(clients([next]) == ["0", "1", "2"])
        #expect(clients([next, .letter("I")]) == ["2", "1", "0"])
        #expect(clients([next, .f6, next]) == ["2", "1", "0"])
        #expect(clients([.letter("<")]) == ["0", "1", "2"])
        #expect(clients([next, .letter("<")]) == ["1", "2", "0"])
        #expect(clients(Array(repeating: next, count: 10)) == ["1", "2", "0"])
    }

    @Test("what floods the bus is named above the tables, from 100 a second and more than half of all on")
    func floods() throws {
        for (count, others, isFlood) in [(100, 0, true), (99, 0, false), (100, 99, true), (100, 100, false)] {
            var state = TopState(title: "t")
            func take(_ key: String, _ value: String, skipped: Int = 0) throws {
                let line =
                    #"{"event":"update","key":"\#(key)","revision":1,"value":\#(value),"by":"x","skipped":\#(skipped)}"#
                state.take(try #require(BrokerLine(Array(line.utf8)[...])))
            }
            for lines in [0, 1] {
                for (number, rate) in [(1, count), (2, others)] {
                    try take(
                        "$broker.clients.\(number)",
                        #"{"client":\#(number),"name":"c\#(number)","state":"live","lines":\#(lines * rate)}"#
                    )
                }
            }
            try take("fast", "1", skipped: count - 1)
            if others > 0 { try take("other", "1", skipped: others - 1) }
            state.endPeriod(seconds: 1)
            let lines = lines(state, 80, 24)
            let share = others == 0 ? 100 : 50
            let named = [
                "flooded by client c1: \(count) lines/s, \(share) % of all",
                "flooded by key fast: \(count) changes/s, \(share) % of all",
            ]
            #expect(lines.filter { $0.hasPrefix("flooded") } == (isFlood ? named : []))
            let report = TopPicture(state: state, paint: Paint(isOn: false)).report(rows: 9, seconds: 1)
            #expect(report.contains(named[0]) == isFlood)
            #expect(
                TopPicture(state: state, paint: Paint(isOn: true)).line(at: "").contains(named[1]) == isFlood
            )
        }
    }

    @Test("while there is no broker, it says so instead of the figures")
    func apart() throws {
        var state = try state()
        state.isApart = true
        #expect(lines(state, 80, 24)[1] == "the broker is gone; waiting for it to come back")
    }

    @Test("if a broker says nothing about itself, only what is counted here is shown")
    func silent() {
        var state = TopState(title: "t")
        state.endPeriod(seconds: 1)
        let lines = lines(state, 80, 24)
        #expect(lines[1] == "changes 0/s")
        #expect(lines.contains("no key has changed yet"))
        #expect(lines.contains("this broker doesn't tell of its clients"))
    }
}
