// Calls to a server that loses its right when the policy is loaded anew.

import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("a right to serve that is revoked", .computing)
struct RevokedServiceTests {
    private static func policy(serve: String) -> String {
        """
        {"rules": [{"allow": {"everything": ["**"]}}, {"user": 7, "allow": {"serve": \(serve), "subscribe": ["**"]}}]}
        """
    }

    @Test("who has not read what it was asked is sent away; who has stays")
    func unreadCalls() throws {
        let hub = TestHub()
        try hub.follow(Self.policy(serve: #"["a", "b"]"#))
        let (caller, reader, stopped) = (hub.client(), hub.client(user: 7), hub.client(user: 7))
        hub.send(#"{"op":"serve","key":"a"}"#, from: reader)
        hub.send(#"{"op":"serve","key":"b"}"#, from: stopped)
        _ = (hub.read(reader), hub.read(stopped))
        hub.stopReading(stopped)
        hub.send(#"{"op":"call","id":1,"key":"a","value":"secret"}"#, from: caller)
        hub.send(#"{"op":"call","id":2,"key":"b","value":"secret"}"#, from: caller)
        #expect(hub.read(reader).count == 1)
        #expect(try hub.follow(Self.policy(serve: "[]")) == ["\(stopped) revoked"])
        let told = hub.read(caller)
        for id in 1...2 { #expect(told.contains { $0.contains(#""error":"provider_gone","id":\#(id)"#) }) }
    }
}
