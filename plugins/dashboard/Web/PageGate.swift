// Who may have what. Other programs of this machine, and every web page that the browser shows, can reach
// the port. So a request must name this server as its host, come from this server's own page, and carry
// the token. Pure: a head in, a verdict out. A refusal says nothing about its reason.

/// Where the server listens, as far as requests have to know it.
enum WebPlace: Equatable {
    case port(UInt16)
    /// A Unix socket, for a tunnel whose other end is at any port of any loopback name.
    case socket(String)
}

/// The rules of access.
struct PageGate {
    /// What a request may have.
    enum Verdict: Equatable {
        case file(String)
        case events
        case request
        case refused(WebStatus)
    }

    let place: WebPlace
    let token: WebToken

    func verdict(_ head: RequestHead) -> Verdict {
        guard let host = head.only("host"), isOwn(host) else { return .refused(.forbidden) }
        switch head.target {
        case "/events": return head.method == "GET" ? own(.events, head, host) : .refused(.wrongMethod)
        case "/request": return head.method == "POST" ? own(.request, head, host) : .refused(.wrongMethod)
        default: return head.method == "GET" ? .file(head.target) : .refused(.wrongMethod)
        }
    }

    /// What only the page itself gets.
    private func own(_ verdict: Verdict, _ head: RequestHead, _ host: String) -> Verdict {
        guard let words = head.only("authorization"), words.hasPrefix("Bearer "),
            token.isEqual(to: words.dropFirst("Bearer ".count)),
            isFromHere(head, host, mustSay: verdict == .request)
        else { return .refused(.forbidden) }
        return verdict
    }

    /// Whether the server's own page makes the request, as far as the browser says.
    private func isFromHere(_ head: RequestHead, _ host: String, mustSay: Bool) -> Bool {
        if head.has("origin") {
            guard head.only("origin") == "http://\(host)" else { return false }
        } else if mustSay {
            return false
        }
        return !head.has("sec-fetch-site") || head.only("sec-fetch-site") == "same-origin"
    }

    private func isOwn(_ host: String) -> Bool {
        switch place {
        case .port(let port): return ["127.0.0.1:\(port)", "localhost:\(port)"].contains(host)
        case .socket:
            guard let name = Self.loopbackNames.first(where: { host == $0 || host.hasPrefix($0 + ":") })
            else {
                return false
            }
            let rest = host.dropFirst(name.count)
            return rest.isEmpty || UInt16(rest.dropFirst()).map { "\($0)" == rest.dropFirst() } == true
        }
    }

    private static let loopbackNames = ["127.0.0.1", "localhost", "[::1]"]
}

/// The secret in the page's address: 128 bits in hexadecimal digits.
struct WebToken: Equatable {
    let text: String

    /// A new one, from the system's generator.
    init() {
        var generator = SystemRandomNumberGenerator()
        text = (0..<2).map { _ in Self.digits(generator.next()) }.joined()
    }

    /// Compares all bytes, so that the time tells nothing about the first wrong one.
    func isEqual(to other: Substring) -> Bool {
        let (own, others) = (Array(text.utf8), Array(other.utf8))
        guard own.count == others.count else { return false }
        return zip(own, others).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private static func digits(_ word: UInt64) -> String {
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
