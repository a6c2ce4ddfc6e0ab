// The place at which a subscription resumes, for the commands and for the library.

import PlugboardWire
import Testing

@Suite("Where a subscription goes on")
struct ResumePlaceTests {
    @Test("of the newest revision it is known which keys were told; they aren't told twice")
    func batch() {
        var place = ResumePlace()
        place.begin(epoch: "e", revision: 4, isResumed: false, hasSnapshot: true)
        #expect(place.revision == nil)
        same(place.isNews(key: "a", revision: 4), true)
        #expect(place.revision == nil)
        place.finish(at: 5)
        #expect(place.revision == 5)
        same(place.isNews(key: "a", revision: 7), true)
        #expect(place.revision == 6)
        same(place.isNews(key: "b", revision: 7), true)
        #expect(place.revision == 6)
        place.begin(epoch: "e", revision: 9, isResumed: true, hasSnapshot: true)
        #expect(place.revision == 6)
        same(place.isNews(key: "a", revision: 7), false)
        same(place.isNews(key: "b", revision: 7), false)
        same(place.isNews(key: "c", revision: 7), true)
        same(place.isNews(key: "a", revision: 8), true)
        #expect(place.revision == 7)
        same(place.isNews(key: "a", revision: 8), true)
        place.finish(at: 9)
        #expect(place.revision == 9)
    }

    @Test("synced at the newest revision leaves that one open, as more of its batch may come")
    func half() {
        var place = ResumePlace()
        place.begin(epoch: "e", revision: 9, isResumed: false, hasSnapshot: true)
        _ = place.isNews(key: "a", revision: 9)
        place.finish(at: 9)
        #expect(place.revision == 8)
        place.begin(epoch: "f", revision: 2, isResumed: false, hasSnapshot: false)
        #expect(place.revision == 2)
        #expect(place.epoch == "f")
        same(place.isNews(key: "a", revision: 3), true)
        #expect(place.revision == 2)
    }

    @Test("emits move on what is known, and are never taken for repeats")
    func emits() {
        var place = ResumePlace()
        place.begin(epoch: "e", revision: 5, isResumed: false, hasSnapshot: true)
        #expect(place.revision == nil)
        same(place.isNews(key: "a", revision: 4), true)
        #expect(place.revision == nil)
        place.finish(at: 4)
        // More events of revision 4 may be on their way.
        #expect(place.revision == 3 && place.epoch == "e")
        place.advance(to: 6)
        #expect(place.revision == 5)
        place.begin(epoch: "e", revision: 7, isResumed: true, hasSnapshot: true)
        same(place.isNews(key: "a", revision: 6), true)
        same(place.isNews(key: "a", revision: 6), false)
        place.advance(to: 6)
        place.finish(at: 7)
        #expect(place.revision == 7)
    }
}

/// Compares a value that changes when it is read.
private func same(_ value: Bool, _ expected: Bool, _ location: SourceLocation = #_sourceLocation) {
    #expect(value == expected, sourceLocation: location)
}
