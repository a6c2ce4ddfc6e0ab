import Testing

@testable import PlugboardClient
@testable import ReviewBannerPlugin

@Suite("News about reviews")
struct ReviewNewsTests {
    /// Plays events. Returns the changes as `key value` or `key gone`.
    private struct Play {
        var news = ReviewNews()
        var revision = 0

        /// What is shown on the screens changes so.
        mutating func tell(_ lines: String...) throws -> [String] {
            try all(lines).filter { !$0.hasPrefix("seen.") }
        }

        /// All changes.
        mutating func all(_ lines: [String]) throws -> [String] {
            news.take(try lines.map(event)).map { "\($0.key) \($0.value?.text ?? "gone")" }
        }

        mutating func line(_ key: String, _ value: String) -> String {
            revision += 1
            return
                #"{"event":"update","sub":1,"key":"\#(key)","revision":\#(revision),"value":\#(value),"by":"x"}"#
        }

        mutating func update(_ key: String, _ value: String, initial: Bool = false) throws -> [String] {
            revision += 1
            let mark = initial ? ",\"initial\":true" : ""
            return try tell(
                #"{"event":"update","sub":1,"key":"\#(key)","revision":\#(revision),"value":\#(value),"by":"x"\#(mark)}"#
            )
        }

        mutating func reviews(_ sku: String, _ count: Int, initial: Bool = false) throws -> [String] {
            try update("reviews.\(sku)", #"{"rating":3.9,"count":\#(count)}"#, initial: initial)
        }

        mutating func delete(_ key: String) throws -> [String] {
            try tell(#"{"event":"delete","sub":1,"key":"\#(key)","revision":\#(revision),"by":"x"}"#)
        }

        mutating func synced() throws -> [String] {
            try tell(#"{"event":"synced","sub":1,"revision":\#(revision)}"#)
        }

        mutating func list() throws -> [String] { try update("screen", #"{"name":"list"}"#) }
        mutating func other() throws -> [String] { try update("screen", #"{"name":"checkout"}"#) }
        mutating func detail(_ sku: String) throws -> [String] {
            try update("screen", #"{"name":"detail","sku":"\#(sku)"}"#)
        }

        /// A shop on the list screen, with two products without news.
        static func onTheList() throws -> Play {
            var play = Play()
            _ = try play.reviews("a", 14, initial: true)
            _ = try play.reviews("b", 5, initial: true)
            _ = try play.update("screen", #"{"name":"list"}"#, initial: true)
            #expect(try play.synced().isEmpty)
            return play
        }
    }

    @Test("on the list a product whose count grew gets an indicator, which grows with it")
    func indicator() throws {
        var play = try Play.onTheList()
        #expect(try play.reviews("a", 16) == [#"indicator.a {"new":2}"#])
        #expect(try play.reviews("a", 17) == [#"indicator.a {"new":3}"#])
        #expect(try play.reviews("a", 17) == [])
        #expect(try play.reviews("b", 4) == [])
    }

    @Test("on its own screen the product gets a banner, and the indicator goes")
    func banner() throws {
        var play = try Play.onTheList()
        _ = try play.reviews("a", 16)
        #expect(
            try play.detail("a") == [
                #"banner {"sku":"a","text":"2 new reviews, now 16, rated 3.9"}"#, "indicator.a gone",
            ]
        )
        #expect(
            try play.reviews("a", 17) == [#"banner {"sku":"a","text":"3 new reviews, now 17, rated 3.9"}"#]
        )
        #expect(try play.list() == ["banner gone"])
        #expect(try play.reviews("a", 18) == [#"indicator.a {"new":1}"#])
    }

    @Test("one review is not called reviews, and a missing rating is not shown")
    func wording() throws {
        var play = try Play.onTheList()
        _ = try play.update("reviews.b", #"{"count":6}"#)
        #expect(try play.detail("b").contains(#"banner {"sku":"b","text":"1 new review, now 6"}"#))
    }

    @Test("indicators count as seen when another screen comes, and don't come back")
    func seenOnTheList() throws {
        var play = try Play.onTheList()
        _ = try play.reviews("a", 16)
        _ = try play.reviews("b", 6)
        #expect(try play.other() == ["indicator.a gone", "indicator.b gone"])
        #expect(try play.list() == [])
        _ = try play.reviews("a", 17)
        #expect(try play.detail("b") == ["indicator.a gone"])
        #expect(try play.detail("a") == [])
    }

    @Test("a screen without products shows no news; the next screen with products does")
    func whileAway() throws {
        var play = try Play.onTheList()
        _ = try play.other()
        #expect(try play.reviews("a", 15) == [])
        #expect(try play.reviews("b", 8) == [])
        #expect(try play.list() == [#"indicator.a {"new":1}"#, #"indicator.b {"new":3}"#])
        _ = try play.other()
        _ = try play.reviews("a", 16)
        #expect(try play.detail("a") == [#"banner {"sku":"a","text":"1 new review, now 16, rated 3.9"}"#])
        #expect(try play.detail("b") == ["banner gone"])
    }

    @Test("on a product's screen, another product's reviews wait for the list")
    func otherProduct() throws {
        var play = try Play.onTheList()
        _ = try play.detail("a")
        #expect(try play.reviews("b", 7) == [])
        #expect(try play.list() == [#"indicator.b {"new":2}"#])
    }

    @Test("the same screen again changes nothing")
    func sameScreen() throws {
        var play = try Play.onTheList()
        _ = try play.reviews("a", 15)
        #expect(try play.list() == [])
        _ = try play.detail("a")
        #expect(try play.detail("a") == [])
    }

    @Test("a product that is new has no news")
    func newProduct() throws {
        var play = try Play.onTheList()
        #expect(try play.reviews("c", 100) == [])
        #expect(try play.reviews("c", 101) == [#"indicator.c {"new":1}"#])
    }

    @Test("a product that loses its reviews loses its indicator, and without a screen there is no banner")
    func deletions() throws {
        var play = try Play.onTheList()
        _ = try play.reviews("a", 16)
        #expect(try play.delete("reviews.a") == ["indicator.a gone"])
        _ = try play.reviews("b", 6)
        _ = try play.detail("b")
        #expect(try play.delete("screen") == ["banner gone"])
    }

    @Test("fewer reviews than before are no news, and remove the news")
    func fewer() throws {
        var play = try Play.onTheList()
        _ = try play.reviews("a", 16)
        #expect(try play.reviews("a", 14) == ["indicator.a gone"])
        #expect(try play.reviews("a", 10) == [])
    }

    @Test("after a restart, the bus tells what had been seen")
    func restart() throws {
        var play = Play()
        _ = try play.reviews("a", 16, initial: true)
        _ = try play.update("seen.a", "14", initial: true)
        _ = try play.update("screen", #"{"name":"list"}"#, initial: true)
        #expect(try play.synced() == [#"indicator.a {"new":2}"#])
        #expect(try play.reviews("a", 17) == [#"indicator.a {"new":3}"#])
    }

    @Test("what is seen is noted when a product is heard of, and with the change that it leads to")
    func seenKeys() throws {
        var play = Play()
        _ = try play.reviews("a", 14, initial: true)
        _ = try play.update("screen", #"{"name":"list"}"#, initial: true)
        let synced = #"{"event":"synced","sub":1,"revision":2}"#
        #expect(try play.all([synced]) == ["seen.a 14"])
        #expect(try play.all([play.line("reviews.b", #"{"count":3}"#)]) == ["seen.b 3"])
        #expect(try play.all([play.line("reviews.a", #"{"count":16}"#)]) == [#"indicator.a {"new":2}"#])
        #expect(
            try play.all([play.line("screen", #"{"name":"other"}"#)]) == ["seen.a 16", "indicator.a gone"]
        )
        #expect(try play.all([play.line("screen", #"{"name":"list"}"#)]) == [])
        let gone = #"{"event":"delete","sub":1,"key":"reviews.a","revision":9,"by":"x"}"#
        #expect(try play.all([gone]) == ["seen.a gone"])
    }

    @Test(
        "in one revision the screen comes first, whichever of its events comes first",
        arguments: [true, false]
    )
    func oneRevision(screenComesFirst: Bool) throws {
        var play = try Play.onTheList()
        _ = try play.reviews("a", 16)
        let lines = [
            #"{"event":"update","sub":1,"key":"screen","revision":50,"value":{"name":"other"},"by":"x"}"#,
            #"{"event":"update","sub":1,"key":"reviews.a","revision":50,"value":{"count":19},"by":"x"}"#,
        ]
        let told = try play.all(screenComesFirst ? lines : lines.reversed())
        // The list told of 16. The three others came with another screen.
        #expect(told == ["seen.a 16", "indicator.a gone"])
        #expect(try play.list() == [#"indicator.a {"new":3}"#])
    }

    @Test("what came and went before it could be shown is not shown, and isn't seen")
    func together() throws {
        var play = try Play.onTheList()
        let (reviews, other) = (play.line("reviews.a", #"{"count":16}"#), play.line("screen", "{}"))
        #expect(try play.all([reviews, other]) == [])
        #expect(try play.list() == [#"indicator.a {"new":2}"#])
    }

    @Test("an indicator that ended with a connection comes again; one that a client deleted doesn't at once")
    func disconnected() throws {
        var play = try Play.onTheList()
        _ = try play.reviews("a", 16)
        let end =
            #"{"event":"delete","sub":1,"key":"indicator.a","revision":9,"by":"x","reason":"disconnected"}"#
        #expect(try play.tell(end) == [#"indicator.a {"new":2}"#])
        #expect(try play.delete("indicator.a") == [])
        #expect(try play.reviews("a", 17) == [#"indicator.a {"new":3}"#])
    }

    @Test("after a broken connection all is shown again, and what couldn't be written is written")
    func resumed() throws {
        var play = try Play.onTheList()
        _ = try play.reviews("a", 16)
        var synced = try event(#"{"event":"synced","sub":1,"revision":9}"#)
        synced.isMissed = true
        #expect(play.news.take([synced]).map(\.key) == ["indicator.a"])
        play.news.forget([(key: "seen.b", value: .integer(5))])
        #expect(play.news.take([synced]).map(\.key) == ["seen.b", "indicator.a"])
    }

    @Test("its own writes say nothing new when they come back late")
    func ownWrites() throws {
        var play = Play(news: ReviewNews(writer: "x"))
        _ = try play.reviews("a", 14, initial: true)
        _ = try play.update("screen", #"{"name":"list"}"#, initial: true)
        _ = try play.synced()
        #expect(try play.reviews("a", 16) == [#"indicator.a {"new":2}"#])
        #expect(try play.update("seen.a", "15") == [])
        #expect(try play.update("indicator.a", #"{"new":1}"#) == [])
        #expect(try play.delete("indicator.a") == [])
        #expect(try play.reviews("a", 16) == [])
    }

    @Test("another program may say what was seen; what is no number, or negative, says nothing")
    func seenByOthers() throws {
        var play = try Play.onTheList()
        _ = try play.reviews("a", 16)
        #expect(try play.update("seen.a", "15") == [#"indicator.a {"new":1}"#])
        for value in ["-1", #""x""#, "1.5", "null"] {
            #expect(try play.update("seen.a", value) == [], "\(value)")
        }
        #expect(try play.update("seen.a", "20") == ["indicator.a gone"])
        #expect(try play.update("seen.unknown", "1") == [])
    }

    @Test("what an earlier run left for no product is removed")
    func leftovers() throws {
        var play = Play()
        _ = try play.update("indicator.gone", #"{"new":2}"#, initial: true)
        _ = try play.update("indicator.a", #""what""#, initial: true)
        _ = try play.reviews("a", 3, initial: true)
        _ = try play.update("banner", #"{"sku":"a","text":"old"}"#, initial: true)
        _ = try play.update("seen.gone", "3", initial: true)
        #expect(try play.synced() == ["banner gone", "indicator.a gone", "indicator.gone gone"])
        #expect(try play.reviews("gone", 5) == [], "it is new again")
    }

    @Test("a broker that forgot everything gets the news again")
    func reconnection() throws {
        var play = try Play.onTheList()
        _ = try play.reviews("a", 16)
        _ = try play.reviews("a", 16, initial: true)
        _ = try play.update("screen", #"{"name":"list"}"#, initial: true)
        #expect(try play.synced() == [#"indicator.a {"new":2}"#])
    }

    @Test(
        "a value that isn't a screen or a product's reviews counts as none",
        arguments: [
            ("screen", "5"), ("screen", "{}"), ("screen", #"{"name":"detail"}"#),
            ("reviews.a.b", #"{"count":99}"#),
            ("reviews", #"{"count":99}"#), ("reviews.c", #"{"count":"99"}"#), ("reviews.c", #"{"count":-1}"#),
            ("reviews.c", "[]"), ("reviews.c", #"{"count":99999999999999999999}"#),
        ]
    )
    func malformed(_ key: String, _ value: String) throws {
        var play = try Play.onTheList()
        #expect(try play.update(key, value) == [])
        #expect(try play.list() == [])
    }
}
