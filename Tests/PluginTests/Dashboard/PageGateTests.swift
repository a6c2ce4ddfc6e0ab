import Testing

@testable import DashboardPlugin

@Suite("Who gets what from the dashboard")
struct PageGateTests {
    private static let token = WebToken()
    private let gate = PageGate(place: .port(8_080), token: token)
    private let tunnel = PageGate(place: .socket("/run/page.sock"), token: token)

    private func head(_ method: String, _ target: String, _ headers: KeyValuePairs<String, String>)
        -> RequestHead
    {
        RequestHead(
            method: method,
            target: target,
            headers: headers.map { RequestHead.Header(name: $0.key, value: $0.value) },
            isOld: false
        )
    }

    private static let bearer = "Bearer \(token.text)"
    private static let host = "127.0.0.1:8080"
    private static let origin = "http://127.0.0.1:8080"

    @Test("a file needs the exact host, by number or as localhost, and no token")
    func files() {
        for host in [Self.host, "localhost:8080"] {
            #expect(gate.verdict(head("GET", "/", ["host": host])) == .file("/"))
        }
        #expect(gate.verdict(head("GET", "/x", ["host": Self.host, "origin": "http://evil"])) == .file("/x"))
        let strangers = ["localhost", "localhost:8081", "localhost:8080.evil", "127.0.0.1", "evil", ""]
        for host in strangers + ["127.0.0.1:80800", "127.0.0.1:8080.evil"] {
            #expect(gate.verdict(head("GET", "/", ["host": host])) == .refused(.forbidden), "\(host)")
        }
        #expect(gate.verdict(head("GET", "/", [:])) == .refused(.forbidden))
        let twice = head("GET", "/", ["host": Self.host, "host": Self.host])
        #expect(gate.verdict(twice) == .refused(.forbidden))
        #expect(gate.verdict(head("PUT", "/", ["host": Self.host])) == .refused(.wrongMethod))
    }

    @Test("the events need the token, and no foreign origin")
    func events() {
        func verdict(_ headers: KeyValuePairs<String, String>) -> PageGate.Verdict {
            gate.verdict(head("GET", "/events", headers))
        }
        #expect(verdict(["host": Self.host, "authorization": Self.bearer]) == .events)
        #expect(verdict(["host": Self.host, "authorization": Self.bearer, "origin": Self.origin]) == .events)
        let same =
            ["host": Self.host, "authorization": Self.bearer, "sec-fetch-site": "same-origin"]
            as KeyValuePairs
        #expect(verdict(same) == .events)
        #expect(verdict(["host": Self.host]) == .refused(.forbidden))
        #expect(verdict(["authorization": Self.bearer]) == .refused(.forbidden))
        for origin in ["http://evil", "null", "https://127.0.0.1:8080", "http://localhost:8080", ""] {
            let headers =
                ["host": Self.host, "authorization": Self.bearer, "origin": origin] as KeyValuePairs
            #expect(verdict(headers) == .refused(.forbidden), "\(origin)")
        }
        for site in ["cross-site", "same-site", "none", ""] {
            let headers =
                ["host": Self.host, "authorization": Self.bearer, "sec-fetch-site": site] as KeyValuePairs
            #expect(verdict(headers) == .refused(.forbidden), "\(site)")
        }
        #expect(gate.verdict(head("POST", "/events", same)) == .refused(.wrongMethod))
    }

    @Test("a wrong token gets nothing, however near it is")
    func tokens() {
        let text = Self.token.text
        let others = [
            "", "Bearer", "Bearer ", text, "bearer \(text)", "Bearer \(text)0", "Bearer \(text.dropLast())",
        ]
        for words in others + ["Bearer \(text.uppercased())x", "Basic \(text)"] {
            let request = head("GET", "/events", ["host": Self.host, "authorization": words])
            #expect(gate.verdict(request) == .refused(.forbidden), "\(words)")
        }
    }

    @Test("a request for the broker needs the exact origin as well")
    func requests() {
        func verdict(_ headers: KeyValuePairs<String, String>) -> PageGate.Verdict {
            gate.verdict(head("POST", "/request", headers))
        }
        #expect(
            verdict(["host": Self.host, "authorization": Self.bearer, "origin": Self.origin]) == .request)
        #expect(verdict(["host": Self.host, "authorization": Self.bearer]) == .refused(.forbidden))
        #expect(verdict(["host": Self.host, "origin": Self.origin]) == .refused(.forbidden))
        let foreign =
            ["host": Self.host, "authorization": Self.bearer, "origin": "http://evil"] as KeyValuePairs
        #expect(verdict(foreign) == .refused(.forbidden))
    }

    @Test("behind a tunnel the host is any port of a loopback name, and the origin the same")
    func tunnels() {
        for host in ["localhost:9000", "127.0.0.1:1", "[::1]:65535", "localhost"] {
            let headers =
                ["host": host, "authorization": Self.bearer, "origin": "http://\(host)"] as KeyValuePairs
            #expect(tunnel.verdict(head("POST", "/request", headers)) == .request, "\(host)")
        }
        for host in [
            "localhost.evil:80", "localhost:", "localhost:80x", "localhost:65536", "evil:80", "localhost:+1",
        ] {
            #expect(tunnel.verdict(head("GET", "/", ["host": host])) == .refused(.forbidden), "\(host)")
        }
        let other =
            ["host": "localhost:9", "authorization": Self.bearer, "origin": "http://localhost:8"]
            as KeyValuePairs
        #expect(tunnel.verdict(head("POST", "/request", other)) == .refused(.forbidden))
    }

    @Test("a token has 128 bits, and each is another one")
    func tokenBits() {
        let tokens = (0..<100).map { _ in WebToken().text }
        #expect(Set(tokens).count == 100)
        #expect(tokens.allSatisfy { $0.utf8.count == 32 && $0.allSatisfy(\.isHexDigit) })
    }
}
