import TestSupport
import Testing

@testable import DashboardPlugin

@Suite("The head of a request to the dashboard")
struct RequestHeadTests {
    private func read(_ text: String) -> RequestHead.Reading { RequestHead.read(Array(text.utf8)) }

    private func head(_ text: String) throws -> RequestHead {
        guard case .head(let head, let bytes) = read(text) else {
            throw NeverHappened(description: "\(read(text))")
        }
        #expect(bytes == text.utf8.count)
        return head
    }

    @Test("its method, its target and its headers, whose names have no case")
    func plain() throws {
        let head = try head(
            "GET /style.css HTTP/1.1\r\nHost: 127.0.0.1:80\r\nX-Long:  a b\t\r\nEmpty:\r\n\r\n"
        )
        #expect(head.method == "GET")
        #expect(head.target == "/style.css")
        #expect(head.only("host") == "127.0.0.1:80")
        #expect(head.only("x-long") == "a b")
        #expect(head.only("empty")?.isEmpty == true)
        #expect(!head.wantsEnd)
    }

    @Test("what follows it is not its business, and half of it is not enough")
    func pieces() {
        let text = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        for end in 0..<text.utf8.count {
            #expect(RequestHead.read(Array(text.utf8.prefix(end))) == .incomplete, "\(end)")
        }
        guard case .head(_, let bytes) = read(text + "GET / HTTP") else {
            Issue.record("no head")
            return
        }
        #expect(bytes == text.utf8.count)
    }

    @Test("a header that stands twice has no value")
    func twice() throws {
        let head = try head("GET / HTTP/1.1\r\nHost: a\r\nHOST: b\r\n\r\n")
        #expect(head.only("host") == nil)
        #expect(head.has("host"))
    }

    @Test("an old client, and one that says so, wants the connection to end")
    func endings() throws {
        #expect(try head("GET / HTTP/1.0\r\n\r\n").wantsEnd)
        #expect(try head("GET / HTTP/1.1\r\nConnection: Keep-Alive, Close\r\n\r\n").wantsEnd)
    }

    @Test(
        "what is not plain HTTP is refused",
        arguments: [
            "GET / HTTP/1.1\nHost: a\n\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n", "GET /\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\n\r\n", "* / HTTP/1.1 x\r\n\r\n", "GET * HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\n folded: a\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
            "GET / HTTP/1.1\r\n: a\r\n\r\n", "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: caf\u{E9}\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\u{0}b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", "\r\n\r\n", "G(T / HTTP/1.1\r\n\r\n",
        ]
    )
    func malformed(_ text: String) {
        #expect(read(text) == .refused(.badRequest))
    }

    @Test("another version of HTTP is refused as that")
    func versions() {
        #expect(read("GET / HTTP/2.0\r\n\r\n") == .refused(.badVersion))
        #expect(read("GET / http/1.1\r\n\r\n") == .refused(.badVersion))
    }

    @Test("64 headers are taken, and 65 are not")
    func headers() throws {
        let start = "GET / HTTP/1.1\r\n"
        let most = String(repeating: "A: b\r\n", count: WebLimits.headersMax)
        #expect(try head(start + most + "\r\n").headers.count == WebLimits.headersMax)
        #expect(read(start + most + "A: b\r\n\r\n") == .refused(.headTooLarge))
    }

    @Test("16 KiB are taken, and one byte more is not, whether it has come or not")
    func bytes() throws {
        let frame = "GET / HTTP/1.1\r\nA: \r\n\r\n"
        let room = WebLimits.headBytesMax - frame.utf8.count
        let fitting = "GET / HTTP/1.1\r\nA: \(String(repeating: "x", count: room))\r\n\r\n"
        #expect(try head(fitting).headers.count == 1)
        let longer = "GET / HTTP/1.1\r\nA: \(String(repeating: "x", count: room + 1))\r\n\r\n"
        #expect(read(longer) == .refused(.headTooLarge))
        #expect(read(String(repeating: "x", count: WebLimits.headBytesMax)) == .refused(.headTooLarge))
        #expect(read(String(repeating: "x", count: WebLimits.headBytesMax - 1)) == .incomplete)
    }

    @Test("random bytes get some answer")
    func random() {
        var generator = SeededRandom(seed: 18)
        let words = ["GET ", "/", " HTTP/1.1", "\r\n", "\r", "\n", ":", "Host", " ", "\u{0}", "é", "\t", "x"]
        for _ in 0..<2_000 {
            let text = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
                words.randomElement(using: &generator) ?? ""
            }
            _ = read(text.joined() + "\r\n\r\n")
        }
    }
}
