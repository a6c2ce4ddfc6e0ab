// `policy`: looks at a policy file as a broker would, without one.

import PlugboardBroker
import PlugboardPosix

extension Option {
    static let policy = Option(
        "policy",
        "FILE",
        "who may do what; without one, this user and root may do everything, others can't connect"
    )
}

extension Command {
    static let policy = Command(
        name: "policy",
        group: .about,
        summary: "check a file that says who may do what",
        parameters: [
            Parameter("check", "what to do"),
            Parameter("FILE", "the file for plugboard broker --policy"),
        ],
        details: """
            Says what the file comes to, or what is wrong with it and where, with status 1.

            A policy is JSON: rules, each for a user, a group or a plugin, or all of these at once. A rule \
            without user and group is about the broker's own user and root. All rules that are about a \
            client count; what none of them allows is forbidden, and what one denies is forbidden whatever \
            others allow:

              {"rules": [
                {"allow": {"everything": ["**", "$broker.**"]}},
                {"user": "alice", "allow": {"subscribe": ["cart.**"]},
                 "deny": {"subscribe": ["cart.secret"]}},
                {"plugin": "cart", "deny": {"publish": ["catalog.**"]}}
              ]}

            What can be allowed and denied is subscribe (being told of keys, in whatever way), publish \
            (with patch and delete), emit, call, serve, control (holding others' subscriptions), and \
            everything. A plugin that plugboard up started is known by name; what others call themselves keeps \
            them from mistakes, and nobody from harm.

            Beside the rules there may be quotas, of what one user's clients may take up together; others than \
            this user and root have some in any case:

              "quotas": [{"user": "alice", "connections": 16, "subscriptions": 100,
                          "owed": 1048576, "keys": 1000, "kept": 1048576}]

            owed is bytes that wait to be read, kept is bytes of keys, values, wills and filters; a subscription counts \
            once for each of its patterns, and so does what is served. "user": "*" is whoever \
            has no other. SIGHUP makes a broker read its file again.
            """,
        examples: ["policy check /etc/plugboard/policy.json"],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: Console) throws {
        let task = invocation.arguments[0]
        guard task == "check" else {
            let message = "a policy is checked: there is no \"\(task)\""
            throw CommandError.usage(message, hint: "policy check FILE")
        }
        let policy = try PolicyFile.read(invocation.arguments[1])
        try console.output.line("fine: \(policy.summary)")
    }
}

/// Policies from files, with their problems as a command tells them.
enum PolicyFile {
    static func read(_ path: String) throws -> Policy {
        do throws(PolicyProblem) {
            return try Policy(path: path)
        } catch {
            throw CommandError(.refused, "\(error)")
        }
    }

    /// The one that the broker before in this process has checked for this one.
    static func left(in inheritance: Inheritance?, path: String) throws -> Policy? {
        do throws(PolicyProblem) {
            return try Policy(leftIn: inheritance, path: path)
        } catch {
            throw CommandError(.refused, "\(error)")
        }
    }
}
