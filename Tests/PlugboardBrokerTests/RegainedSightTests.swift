// What an observer of parts gets after the policy was loaded anew. It may now see a key that it couldn't
// see before, so parts that are gone must be sent, too.

import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("sight that changed", .computing)
struct RegainedSightTests {
    private static func policy(hiding key: String) -> String {
        """
        {"rules": [{"allow": {"everything": ["**"]}},
          {"user": 7, "allow": {"subscribe": ["**"]}, "deny": {"subscribe": ["\(key)"]}}]}
        """
    }

    @Test("of a key that stayed in sight a part that goes is told, as of one that comes back into it")
    func goneParts() throws {
        let hub = TestHub()
        try hub.follow(Self.policy(hiding: "none"))
        let (writer, observer) = (hub.client(), hub.client(user: 7))
        hub.send(#"{"op":"subscribe","key":"*","fields":["/n"]}"#, from: observer)
        hub.send("publish seen {\"n\":1}\npublish hidden {\"n\":1}", from: writer)
        _ = hub.read(observer)
        try hub.follow(Self.policy(hiding: "hidden"))
        hub.send("publish hidden {\"n\":2}", from: writer)
        #expect(hub.read(observer).isEmpty)
        try hub.follow(Self.policy(hiding: "none"))
        hub.send("publish seen {}\npublish hidden {}\npublish seen []", from: writer)
        let told = hub.read(observer)
        #expect(told.count == 2 && told.allSatisfy { $0.contains(#""fields":{},"gone":["/n"]"#) })
    }
}
