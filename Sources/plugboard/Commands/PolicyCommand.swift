// `policy`: checks a policy file as a broker would, without a broker.

import PlugboardBroker
import PlugboardMemory
import PlugboardPosix
import PlugboardWire

extension CommandOption {
    static let policy = CommandOption(
        "policy",
        "FILE",
        "who may do what; without one, this user and root may do everything, and others can't connect"
    )
}

extension Command {
    static let policy = Command(
        name: "policy",
        group: .operate,
        summary: "check a file that says who may do what",
        parameters: [
            CommandParameter("check", "what to do"),
            CommandParameter("FILE", "the file for plugboard broker --policy"),
        ],
        details: """
            Prints a summary of the file, or what is wrong with it and where, with status 1.

            A policy is JSON: rules, each for a user, a group, a plugin, or all of these at once. A rule \
            without user and group applies to the broker's own user and root. All rules that apply to a \
            client count. What none of them allows is forbidden. What one of them denies is forbidden, \
            whatever others allow:

              {"rules": [
                {"allow": {"everything": ["**", "$broker.**"]}},
                {"user": "alice", "allow": {"subscribe": ["cart.**"]},
                 "deny": {"subscribe": ["cart.secret"]}},
                {"plugin": "cart", "deny": {"publish": ["catalog.**"]}}
              ]}

            These rights can be allowed and denied: subscribe (see keys, in whatever way), publish (also \
            patch, add and delete), emit, call, serve, control (hold other clients' subscriptions, and with ** \
            disconnect them), and everything. The name of a plugin that plugboard up started is certain. Other clients choose \
            their names, so for them such a rule prevents mistakes, but stops nobody who means harm.

            Beside the rules there may be quotas: how much all clients of one user may take up together. \
            All users except this one and root have quotas in any case:

              "quotas": [{"user": "alice", "connections": 16, "subscriptions": 100,
                          "owed": 1048576, "partial": 1048576, "keys": 1000,
                          "kept": 1048576}]

            owed is bytes that wait to be read. partial is bytes of requests that are not complete. kept is \
            bytes of keys, values, wills and filters. subscriptions counts each pattern of a subscription, \
            and each served key or pattern. "user": "*" means every user without a quota of its own. SIGHUP \
            makes a broker read its file again.
            """,
        examples: ["policy check /etc/plugboard/policy.json"],
        run: run
    )

    private static func run(_ invocation: Invocation, _ console: CommandConsole) throws {
        let task = invocation.arguments[0]
        guard task == "check" else {
            let message = "a policy is checked: there is no \"\(SystemText.ofPlain(task))\""
            throw CommandError.usage(message, hint: "policy check FILE")
        }
        let policy = try PolicyFile.read(invocation.arguments[1])
        try console.output.line("fine: \(policy.summary)")
    }
}

/// Reads policies from files. A problem becomes the command's error.
enum PolicyFile {
    static func read(_ path: String) throws -> Policy {
        do throws(PolicyProblem) {
            return try Policy(path: path)
        } catch {
            throw CommandError(.refused, "\(error)")
        }
    }

    /// The policy that the previous broker in this process has checked for this one.
    static func left(in inheritance: Inheritance?, path: String) throws -> Policy? {
        do throws(PolicyProblem) {
            return try Policy(leftIn: inheritance, path: path)
        } catch {
            throw CommandError(.refused, "\(error)")
        }
    }
}
