// Made of the OpenAPI document by generate.mjs; what is written here by hand will be lost.

export interface components {
    schemas: {
        Fault: {
            code: string;
            detail: string;
            /** @description Where in the body (RFC 6901). */
            pointer?: string;
            parameter?: string;
            header?: string;
            /** @description Machine-readable values. */
            meta?: {
                [key: string]: unknown;
            };
        };
        Reason: {
            /** @description Why the policy refuses, in one sentence for people, in the language of the answer. */
            reason: string;
        };
        Problem: {
            type: string;
            title: string;
            status: number;
            detail: string;
            instance: string;
            /** @enum {string} */
            code: "malformed_json" | "invalid_body" | "invalid_field" | "missing_field" | "unknown_field" | "read_only_field" | "invalid_parameter" | "unknown_parameter" | "invalid_header" | "pagination_conflict" | "offset_too_large" | "invalid_cursor" | "cursor_mismatch" | "cursor_expired" | "invalid_reference" | "unknown_scope" | "unsupported_version" | "idempotency_unsupported" | "unauthenticated" | "invalid_token" | "token_expired" | "invalid_credentials" | "login_incomplete" | "insufficient_user_authentication" | "forbidden" | "insufficient_scope" | "not_found" | "method_not_allowed" | "not_acceptable" | "conflict" | "already_exists" | "still_referenced" | "invalid_transition" | "out_of_stock" | "last_administrator" | "idempotency_in_progress" | "gone" | "version_conflict" | "body_too_large" | "uri_too_long" | "unsupported_media_type" | "idempotency_mismatch" | "precondition_required" | "rate_limited" | "internal_error" | "unavailable" | "overloaded" | "timeout";
            request_id: string;
            errors: components["schemas"]["Fault"][];
            /** @description Only of a 403 of the policy, where the setting `explain_refusals` is `self`. */
            meta?: components["schemas"]["Reason"];
        };
        /** @enum {string} */
        JobState: "cancelled" | "done" | "failed" | "running" | "waiting";
        Job: {
            /** Format: uuid */
            id: string;
            /** @description What is done, such as users.export. */
            kind: string;
            /** @description waiting, running, done, failed or cancelled. */
            state: components["schemas"]["JobState"];
            /** @description Rows that were done so far. */
            progress: number;
            /** @description How often it was begun; errors of the server are followed by another attempt. */
            attempts: number;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description When it ended, however it did.
             */
            done_at: string | null;
            /** @description Of a job that is done, what its kind says; of one that has failed, a problem (RFC 9457). */
            result: unknown;
        };
        /** @enum {string} */
        ArticleStatus: "approved" | "archived" | "draft" | "in_review" | "published";
        User: {
            /** Format: uuid */
            id: string;
            /**
             * Format: uuid
             * @description Shown with the permission `user.view_private`.
             */
            tenant_id?: string;
            /** @description Shown with the permission `user.view_private`. */
            version?: number;
            /**
             * Format: date-time
             * @description Shown with the permission `user.view_private`.
             */
            created_at?: string;
            /**
             * Format: date-time
             * @description Shown with the permission `user.view_private`.
             */
            updated_at?: string;
            /** @description Shown with the permission `user.view_private`. */
            owner_id?: string;
            /** @example Noor Visser */
            name: string;
            /**
             * @description Shown with the permission `user.view_private`.
             * @example noor@example.org
             */
            email?: string;
            /**
             * Format: date-time
             * @description When the user proved that they get the mail of this address. Null after a change of it. Shown with the permission `user.view_private`.
             */
            email_verified_at?: string | null;
            /** @description A role of the policy. */
            role: string;
            /** @description Shown with the permission `user.view_private`. */
            department?: string | null;
            /** @description Shown with the permission `user.view_private`. */
            groups?: string[];
            /** @description Shown with the permission `user.view_private`. */
            active?: boolean;
            /** @description What this caller may do to it now, when `fields` names it. */
            allowed_actions?: ("update" | "delete" | "share" | "disable" | "enable")[];
        };
        Category: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            tenant_id: string;
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: uuid */
            owner_id: string | null;
            /** @description Shown with the permission `category.view_private`. */
            department?: string | null;
            /** @example Walks */
            name: string;
            /** @example walks */
            slug: string;
            /** Format: uuid */
            parent_id: string | null;
            /** @description The object itself, when `expand` names `parent`. */
            parent?: components["schemas"]["Category"] | null;
            /** @description The object itself, when `expand` names `owner`. */
            owner?: components["schemas"]["User"] | null;
            /** @description What this caller may do to it now, when `fields` names it. */
            allowed_actions?: ("update" | "delete" | "share")[];
        };
        Article: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            tenant_id: string;
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: uuid */
            owner_id: string | null;
            /** @description Shown with the permission `article.view_private`. */
            department?: string | null;
            /** @example A walk along the river */
            title: string;
            /** @example a-walk-along-the-river */
            slug: string;
            /** @example It begins at the old mill. */
            body: string;
            /** @example en */
            language: string;
            /** Format: uuid */
            category_id: string | null;
            status: components["schemas"]["ArticleStatus"];
            /** Format: date-time */
            published_at: string | null;
            /** @description The object itself, when `expand` names `category`. */
            category?: components["schemas"]["Category"] | null;
            /** @description The object itself, when `expand` names `owner`. */
            owner?: components["schemas"]["User"] | null;
            /** @description What this caller may do to it now, when `fields` names it. */
            allowed_actions?: ("update" | "delete" | "share" | "approve" | "archive" | "publish" | "reject" | "submit")[];
        };
        /** @enum {string} */
        AuditResult: "allowed" | "failed" | "refused";
        Audit: {
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            time: string;
            principal: string;
            role: string;
            action: string;
            resource: string;
            /** Format: uuid */
            resource_id: string | null;
            address: string | null;
            result: components["schemas"]["AuditResult"];
            reason: string | null;
            policy_version: string | null;
            request_id: string | null;
            /** @description The facts of the decision; or the e-mail of a failed login, the fields that a body could not set, the filters and the number of rows of an export. Shown with the permission `audit.view_facts`. */
            facts?: {
                [key: string]: unknown;
            } | null;
            /** @description The number of equal events that this one stands for. */
            count: number;
            /** @description What this caller may do to it now, when `fields` names it. */
            allowed_actions?: ("update" | "delete" | "share")[];
        };
        /** @enum {string} */
        CommentStatus: "approved" | "pending" | "rejected";
        Comment: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            tenant_id: string;
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /**
             * Format: uuid
             * @description Shown with the permission `comment.view_owner`.
             */
            owner_id?: string | null;
            /** @description Shown with the permission `comment.view_private`. */
            department?: string | null;
            /** Format: uuid */
            article_id: string;
            /** @example I was there last week. */
            body: string;
            status: components["schemas"]["CommentStatus"];
            /** @description The object itself, when `expand` names `article`. */
            article?: components["schemas"]["Article"] | null;
            /** @description The object itself, when `expand` names `owner`. */
            owner?: components["schemas"]["User"] | null;
            /** @description What this caller may do to it now, when `fields` names it. */
            allowed_actions?: ("update" | "delete" | "share" | "approve" | "reject")[];
        };
        Contact: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            tenant_id: string;
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** @example Noor Visser */
            name: string;
            /** @example noor@example.org */
            email: string;
            /** @example Opening hours */
            subject: string;
            /** @example Are you open on Sundays? */
            body: string;
            /** @description What this caller may do to it now, when `fields` names it. */
            allowed_actions?: ("update" | "delete" | "share")[];
        };
        /** @enum {string} */
        ProductStatus: "active" | "archived" | "draft";
        Product: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            tenant_id: string;
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: uuid */
            owner_id: string | null;
            /** @description Shown with the permission `product.view_private`. */
            department?: string | null;
            /** @example Walnut desk */
            name: string;
            /** @example desk-walnut */
            sku: string;
            description: string | null;
            /**
             * @description Minor units of `currency`.
             * @example 24900
             */
            price: number;
            /** @example EUR */
            currency: string;
            /**
             * @description Shown with the permission `product.view_stock`.
             * @example 12
             */
            stock?: number;
            /** Format: uuid */
            category_id: string | null;
            status: components["schemas"]["ProductStatus"];
            /** @description The object itself, when `expand` names `category`. */
            category?: components["schemas"]["Category"] | null;
            /** @description The object itself, when `expand` names `owner`. */
            owner?: components["schemas"]["User"] | null;
            /** @description What this caller may do to it now, when `fields` names it. */
            allowed_actions?: ("update" | "delete" | "share" | "archive" | "publish")[];
        };
        OrderItem: {
            /** Format: uuid */
            product_id: string;
            /** @example 1 */
            quantity: number;
            /** @description Shown with the permission `order.view_total`. */
            unit_price?: number;
            /** @description The object itself, when `expand` names `items.product`. */
            product?: components["schemas"]["Product"] | null;
        };
        /** @enum {string} */
        OrderStatus: "approved" | "cancelled" | "completed" | "pending" | "refunded" | "rejected" | "shipped";
        Order: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            tenant_id: string;
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: uuid */
            owner_id: string | null;
            /** @description Shown with the permission `order.view_private`. */
            department?: string | null;
            items: components["schemas"]["OrderItem"][];
            /** @example Ring twice. */
            note: string | null;
            /** @description Shown with the permission `order.view_total`. */
            total?: number;
            currency: string;
            status: components["schemas"]["OrderStatus"];
            /** @description The object itself, when `expand` names `owner`. */
            owner?: components["schemas"]["User"] | null;
            /** @description What this caller may do to it now, when `fields` names it. */
            allowed_actions?: ("update" | "delete" | "share" | "approve" | "cancel" | "complete" | "refund" | "reject" | "ship")[];
        };
        /** @enum {string} */
        PageStatus: "archived" | "draft" | "published";
        Page: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            tenant_id: string;
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: uuid */
            owner_id: string | null;
            /** @description Shown with the permission `page.view_private`. */
            department?: string | null;
            /** @example opening-hours */
            slug: string;
            /** @example Opening hours */
            title: string;
            /** @example From nine to five. */
            body: string;
            /** @example en */
            language: string;
            status: components["schemas"]["PageStatus"];
            /** Format: date-time */
            published_at: string | null;
            /** @description The object itself, when `expand` names `owner`. */
            owner?: components["schemas"]["User"] | null;
            /** @description What this caller may do to it now, when `fields` names it. */
            allowed_actions?: ("update" | "delete" | "share" | "archive" | "publish")[];
        };
        Session: {
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            last_used_at: string;
            /** @description The address that it was opened from; null where that was not kept, before an upgrade. */
            address: string | null;
            /** @description The kind of device that opened it: desktop, mobile, tablet, bot or other. */
            device: string | null;
            /**
             * @description What it was opened for: the API, or the console's pages.
             * @enum {string}
             */
            kind: "api" | "console";
            /** @description Whether this request belongs to it. */
            current: boolean;
        };
        ServiceToken: {
            /** Format: uuid */
            id: string;
            /** @example Copy of the users */
            name: string;
            /**
             * @example [
             *       "read:users"
             *     ]
             */
            scopes: string[];
            /** Format: date-time */
            expires_at: string | null;
            /** Format: date-time */
            last_used_at: string | null;
            token?: string;
            /** @description What this caller may do to it now, when `fields` names it. */
            allowed_actions?: ("update" | "delete" | "share")[];
        };
        Minute: {
            /** Format: date-time */
            start: string;
            /** @description All of them. */
            requests: number;
            /** @description Of these, how many were answered 401, 403, or 404 for an object, which may be absent. */
            refusals: number;
            /** @description Of these, how many were answered 429. */
            limited: number;
            /** @description Of these, how many were answered 500 or above. */
            errors: number;
            /** @description Half of them took so long at most. Milliseconds, of all requests but those that a limit refused; null without any. */
            median_milliseconds: number | null;
            /** @description 95 of 100 took so long at most. Milliseconds, of all requests but those that a limit refused; null without any. */
            p95_milliseconds: number | null;
        };
        Activity: {
            minutes: components["schemas"]["Minute"][];
        };
        TableSize: {
            name: string;
            /** @description About how many there are. */
            rows: number;
            /** @description With its indexes; null on SQLite, where that takes long to tell. */
            bytes: number | null;
        };
        Sizes: {
            database_bytes: number;
            /** @description The write-ahead log; null on Postgres. */
            log_bytes: number | null;
            /** @description The files of exports, which SQLite holds beside its database; null on Postgres, where they are in it. */
            files_bytes: number | null;
            /** @description The files in the folder of backups; null where it cannot be read. */
            backups_bytes: number | null;
            /** @description Room on the disk of the instance, or of its database where there is less; null where the disk does not say. */
            disk_free_bytes: number | null;
            /**
             * Format: date-time
             * @description The time of the oldest audit event.
             */
            audit_since: string | null;
            /** @description The largest first, with the rows of all tenants: only for callers of the tenant that guests act in. */
            tables?: components["schemas"]["TableSize"][];
        };
        Counts: {
            total: number;
            by_status: {
                [key: string]: number;
            };
        };
        PerDay: {
            /** @description UTC. */
            date: string;
            count: number;
        };
        Revenue: {
            /** @description UTC. */
            date: string;
            currency: string;
            /** @description Minor units. */
            total: number;
        };
        DeprecatedUse: {
            endpoint: string;
            client: string;
            count: number;
            /** Format: date-time */
            last: string;
        };
        Stats: {
            collections: {
                [key: string]: components["schemas"]["Counts"];
            };
            orders_per_day: components["schemas"]["PerDay"][];
            revenue_per_day: components["schemas"]["Revenue"][];
            logins_per_day: components["schemas"]["PerDay"][];
            refusals_per_day: components["schemas"]["PerDay"][];
            deprecated_use: components["schemas"]["DeprecatedUse"][];
        };
        Subject: {
            /** @example user */
            type: string;
            properties?: {
                [key: string]: unknown;
            };
            /** @example 01941f29-7c00-7000-8000-7dfb4cf67742 */
            id: string;
        };
        Action: {
            /** @example update */
            name: string;
            properties?: {
                [key: string]: unknown;
            };
        };
        Resource: {
            /** @example user */
            type: string;
            properties?: {
                [key: string]: unknown;
            };
            /** @example 01941f29-7c00-7000-8000-7dfb4cf67742 */
            id: string;
        };
        Evaluation: {
            subject: components["schemas"]["Subject"];
            action: components["schemas"]["Action"];
            resource: components["schemas"]["Resource"];
            /** @description `time` (RFC 3339), `ip`, `device` and `method` count; without them it is now, and as for the caller's own request. */
            context?: {
                [key: string]: unknown;
            };
        };
        Decision: {
            decision: boolean;
            /** @description `error`, with `status` and `message`: this one of several is not whole. */
            context?: {
                [key: string]: unknown;
            };
        };
        Options: {
            /**
             * @description "execute_all" unless given.
             * @enum {string}
             */
            evaluations_semantic?: "execute_all" | "deny_on_first_deny" | "permit_on_first_permit";
        };
        Evaluations: {
            subject?: components["schemas"]["Subject"];
            action?: components["schemas"]["Action"];
            resource?: components["schemas"]["Resource"];
            /** @description `time` (RFC 3339), `ip`, `device` and `method` count; without them it is now, and as for the caller's own request. */
            context?: {
                [key: string]: unknown;
            };
            /**
             * @example [
             *       {
             *         "subject": {
             *           "type": "user",
             *           "id": "01941f29-7c00-7000-8000-7dfb4cf67742"
             *         },
             *         "action": {
             *           "name": "view"
             *         },
             *         "resource": {
             *           "type": "user",
             *           "id": "01941f29-7c00-7000-8000-7dfb4cf67742"
             *         }
             *       },
             *       {
             *         "subject": {
             *           "type": "user",
             *           "id": "01941f29-7c00-7000-8000-7dfb4cf67742"
             *         },
             *         "action": {
             *           "name": "update"
             *         },
             *         "resource": {
             *           "type": "user",
             *           "id": "01941f29-7c00-7000-8000-7dfb4cf67742"
             *         }
             *       }
             *     ]
             */
            evaluations?: {
                [key: string]: unknown;
            }[];
            options?: components["schemas"]["Options"];
        };
        Decisions: {
            decision?: boolean;
            evaluations?: components["schemas"]["Decision"][];
        };
        Kind: {
            type: string;
            properties?: {
                [key: string]: unknown;
            };
        };
        SearchPage: {
            token?: string;
            limit?: number;
            properties?: {
                [key: string]: unknown;
            };
        };
        SubjectSearch: {
            /**
             * @example {
             *       "type": "user"
             *     }
             */
            subject: components["schemas"]["Kind"];
            action: components["schemas"]["Action"];
            resource: components["schemas"]["Resource"];
            /** @description `time` (RFC 3339), `ip`, `device` and `method` count; without them it is now, and as for the caller's own request. */
            context?: {
                [key: string]: unknown;
            };
            page?: components["schemas"]["SearchPage"];
        };
        FoundPage: {
            /** @description Empty: there is no more. */
            next_token: string;
            count: number;
        };
        Found: {
            page: components["schemas"]["FoundPage"];
            results: {
                [key: string]: unknown;
            }[];
        };
        ResourceSearch: {
            subject: components["schemas"]["Subject"];
            action: components["schemas"]["Action"];
            /**
             * @example {
             *       "type": "user"
             *     }
             */
            resource: components["schemas"]["Kind"];
            /** @description `time` (RFC 3339), `ip`, `device` and `method` count; without them it is now, and as for the caller's own request. */
            context?: {
                [key: string]: unknown;
            };
            page?: components["schemas"]["SearchPage"];
        };
        ActionSearch: {
            subject: components["schemas"]["Subject"];
            resource: components["schemas"]["Resource"];
            /** @description `time` (RFC 3339), `ip`, `device` and `method` count; without them it is now, and as for the caller's own request. */
            context?: {
                [key: string]: unknown;
            };
            page?: components["schemas"]["SearchPage"];
        };
        Configuration: {
            policy_decision_point: string;
            access_evaluation_endpoint: string;
            access_evaluations_endpoint: string;
            search_subject_endpoint: string;
            search_resource_endpoint: string;
            search_action_endpoint: string;
        };
        Backup: {
            id: string;
            /**
             * Format: date-time
             * @description When it was begun.
             */
            made_at: string;
            /** @enum {string} */
            state: "made" | "running" | "failed";
            /** @description 0 until it is made. */
            bytes: number;
            /** @description How long it took. */
            seconds: number;
            /**
             * Format: date-time
             * @description When it was restored in a scratch place, as a proof.
             */
            proved_at: string | null;
            /** @description Whether it is one of the schedule. */
            scheduled: boolean;
        };
        BackupList: {
            items: components["schemas"]["Backup"][];
        };
        Sent: {
            /** @description Hours that a mailed link is valid. */
            hours: number;
        };
        Verification: {
            /**
             * @description The password of the account: not needed with a session of it.
             * @example seven green lanterns
             */
            password?: string | null;
            token: string;
        };
        FindingOfHealth: {
            check: string;
            /** @enum {string} */
            state: "ok" | "degraded" | "down";
            detail: string;
        };
        Backlog: {
            waiting: number;
            running: number;
            failed: number;
            /** @description For how long the oldest job that waits has been due. */
            seconds: number;
        };
        Backups: {
            made_seconds_ago: number | null;
            proved_seconds_ago: number | null;
        };
        Health: {
            /** @enum {string} */
            status: "ok" | "degraded" | "down";
            checks: {
                [key: string]: "ok" | "degraded" | "down";
            };
            /** @description Only for callers with `policy.view`. */
            findings?: components["schemas"]["FindingOfHealth"][];
            /** @description Only for callers with `policy.view`. */
            policy_version?: string;
            /** @description Only for callers with `policy.view`. */
            policy_error?: string;
            /** @description How many users have a role that no user can have; they may do nothing. Only for callers with `policy.view`. */
            users_without_role?: number;
            /** @description Only for callers with `policy.view`. */
            jobs?: components["schemas"]["Backlog"];
            /** @description Only for callers with `policy.view`. */
            backups?: components["schemas"]["Backups"];
            /** @description Seconds since this process has written a row to learn whether writes are possible; at most every 5. Only for callers with `policy.view`. */
            written_seconds_ago?: number | null;
            /** @description Only for callers with `policy.view`. */
            version?: string;
        };
        Alive: {
            /** @enum {string} */
            status: "ok";
        };
        Identity: {
            /** Format: uuid */
            id: string;
            /** @description The provider's name in the settings; null if it is no longer there. */
            provider: string | null;
            issuer: string;
            /** @description The provider's id of the user. */
            subject: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            last_used_at: string | null;
        };
        Identities: {
            data: components["schemas"]["Identity"][];
        };
        PasswordLink: {
            /** @description The page on which the user chooses a password: below the setting public_url, or the path alone without it. Null if the console is not served. */
            link: string | null;
            /** @description The token of the link, for POST /api/password-links. */
            token: string;
            /** Format: date-time */
            expires_at: string;
        };
        PasswordChoice: {
            token: string;
            /** @example nine slow ferries */
            new_password: string;
        };
        Reset: {
            /** @example noor@example.org */
            email: string;
        };
        Rule: {
            file: string;
            line: number;
            who: string;
            permission: string;
            when: string;
            /** @enum {string} */
            effect: "allow" | "deny";
        };
        RoleOfGroup: {
            file: string;
            line: number;
            group: string;
            role: string;
        };
        Invariant: {
            file: string;
            line: number;
            /** @enum {string} */
            kind: "never" | "only" | "atmost" | "always";
            who: string;
            permission: string;
            /** @description The condition of `atmost` and `always`. */
            when: string | null;
            /** @description What `never` and `only` leave out. */
            except: string[];
        };
        Policy: {
            version: string;
            error: string | null;
            rules: components["schemas"]["Rule"][];
            roles: {
                [key: string]: string[];
            };
            groups: components["schemas"]["RoleOfGroup"][];
            conditions: {
                [key: string]: string;
            };
            invariants: components["schemas"]["Invariant"][];
            warnings: string[];
        };
        OtherRequest: {
            request: string;
            /** @enum {string} */
            verdict: "allowed" | "refused" | "depends";
            status: number | null;
            summary: string;
        };
        RuleInCode: {
            name: string;
            text: string;
            /** @description null: it depends on what the request sends, or on the object. */
            holds: boolean | null;
            status: number | null;
        };
        CircumstancesAnswer: {
            now: string;
            hour: number;
            weekday: number;
            date: string;
            ip: string | null;
            device: string;
            method: string;
            request: string;
        };
        Fact: {
            text: string;
            /** @description null: it depends on the object, and the request names none. */
            holds: boolean | null;
        };
        Line: {
            file: string;
            line: number;
            rule: string;
            /** @description The name of the user whom the rule names. */
            person: string | null;
            roles: string[];
            facts: components["schemas"]["Fact"][];
        };
        Opening: {
            file: string;
            rule: string;
            when: string;
        };
        Explanation: {
            as: string;
            /** @description The name of the user; null for a role, or if the caller may not see it. */
            as_name: string | null;
            role: string;
            /** @enum {string} */
            kind: "user" | "service" | "guest";
            roles: string[];
            /** @description The rule by which a group of the user has the role; null also if you may not see the groups. */
            given_by: components["schemas"]["RoleOfGroup"] | null;
            permission: string;
            object: string | null;
            object_name: string | null;
            /** @enum {string} */
            verdict: "allowed" | "refused" | "depends";
            /** @enum {string} */
            policy_verdict: "allowed" | "refused" | "depends";
            summary: string;
            /** @description True if the user or role may not view the object. The answer would be 404. */
            hidden: boolean;
            /** @description Status code of the answer; null: it depends on the object, or no request needs only this permission. */
            status: number | null;
            /** @description Code of the problem, if any. */
            code: string | null;
            /** @description The request that would get this answer, such as `PATCH /api/users/<id>`. */
            request: string | null;
            /** @description Requests with other methods and another answer; empty if the question names a method. */
            other_requests: components["schemas"]["OtherRequest"][];
            /** @description The reason why the user or role may not view the object; null if they may. */
            view: string | null;
            rules: components["schemas"]["RuleInCode"][];
            circumstances: components["schemas"]["CircumstancesAnswer"];
            decided_by: components["schemas"]["Line"] | null;
            nearest_misses: components["schemas"]["Line"][];
            granted_to: {
                [key: string]: string[];
            };
            scopes: string[] | null;
            scopes_cover: boolean;
            needed_scopes: string[];
            /** @description Rules that would each allow a request that the policy refuses, `always` last. `POST /api/admin/policy/try` shows what else such a rule would allow. */
            would_allow: components["schemas"]["Opening"][];
            sql: string | null;
            policy_version: string;
        };
        Try: {
            /**
             * @description File name → its whole text, of at most 1 MiB (4 MiB together); null: the file goes. Names are those of rules (`name.csv`), `model.conf` and `tests.yaml`.
             * @example {
             *       "mine.csv": "p, support, audit.view, always, allow\n# end"
             *     }
             */
            files: {
                [key: string]: string | null;
            };
            /** @description Repeat the recorded decisions of this many days with both policies; also needs `audit.view`. */
            replay_days?: number;
        };
        Finding: {
            file: string;
            line: number;
            message: string;
            /** @enum {string} */
            severity: "error" | "warning";
        };
        Example: {
            gained: string | null;
            lost: string | null;
        };
        Change: {
            role: string | null;
            /** @description The id of a user with rules of their own. */
            user: string | null;
            scope: string | null;
            /** @description The roles with which the change affects a user whose role is not known; empty: any role. */
            having: string[];
            permission: string;
            /**
             * @description `+` more is allowed, `-` less, `~` some more and some less, `?` it could not be decided.
             * @enum {string}
             */
            sign: "+" | "-" | "~" | "?";
            /** @description null: never. */
            before: string | null;
            /** @description null: never. */
            after: string | null;
            example: components["schemas"]["Example"];
            /** @description The rules that cause the change: `users.csv:14`. */
            lines: string[];
            /** @description The current rules that decided before. */
            lines_before: string[];
        };
        Trial: {
            /** @description The current version. */
            base_version: string;
            /** @description The version of the files in the trial. */
            version: string | null;
            findings: components["schemas"]["Finding"][];
            /** @description The number of findings about users of other tenants. */
            findings_left_out: number;
            /** @description The first 1000 effective changes, without those about users of other tenants. */
            changes: components["schemas"]["Change"][] | null;
            /** @description The number of further changes. */
            more_changes: number;
            /** @description Lines of invariants.csv that are added (`+ …`) or removed (`− …`). */
            invariants: string[] | null;
            /** @description Lines that give a role to a group of an identity provider, added (`+ …`) or removed (`− …`). They change the role of a member at the next login. */
            groups: string[] | null;
            /** @description Stored rows that become visible or hidden, among rows and users that the caller may view: `changes`, `not_counted`, `assumes`, as `gatepost policy diff --rows --json` has them. */
            rows: {
                [key: string]: unknown;
            } | null;
            /** @description Recorded decisions that would change: `let_in`, `refused_now`, `unknown`, as `gatepost policy diff --replay --json` has them. */
            replay: {
                [key: string]: unknown;
            } | null;
            /** @description Unknown parts of this answer: `timeout` (more than 5 seconds of work) or `failed` (the log of the service says why). */
            incomplete: {
                [key: string]: string;
            };
        };
        Apply: {
            /**
             * @description File name → its whole text, of at most 1 MiB (4 MiB together); null: the file goes. Names are those of rules (`name.csv`), `model.conf` and `tests.yaml`.
             * @example {
             *       "mine.csv": "p, support, audit.view, always, allow\n# end"
             *     }
             */
            files: {
                [key: string]: string | null;
            };
            /** @description The reason, for the policy history. */
            note?: string;
            /** @description The current version that the change was made for: `version` of `GET /api/admin/policy`. */
            base_version: string;
        };
        Applied: {
            /** @description The version that is current now. */
            version: string;
        };
        /** @enum {string} */
        VersionField: "version" | "applied_at" | "cause" | "by" | "note" | "late" | "changes";
        /** @enum {string} */
        VersionSort: "-applied_at" | "applied_at";
        Version: {
            version: string;
            /** Format: date-time */
            applied_at: string;
            /** @description `start`, `files` (they were edited), `command`, `http`, `revert` or `accept`. */
            cause: string;
            /** @description `operator`, `user:<id>`, or `system` if the author is not known. */
            by: string;
            note: string | null;
            /** @description True if the database could not be written when it came into force. */
            late: boolean;
            /** @description Its differences from the previous policy: `change` (`more`, `less`, `other`, `undecided`), `permission`, `who`, `before`, `after`; null until they are computed. */
            changes: {
                [key: string]: unknown;
            }[] | null;
        };
        VersionList: {
            items: components["schemas"]["Version"][];
            has_next: boolean;
            has_prev?: boolean;
            next_cursor?: string | null;
            prev_cursor?: string | null;
            page?: number;
            page_size?: number;
            total?: number | null;
            total_estimate?: number;
        };
        VersionWithFiles: {
            version: string;
            /** Format: date-time */
            applied_at: string;
            /** @description `start`, `files` (they were edited), `command`, `http`, `revert` or `accept`. */
            cause: string;
            /** @description `operator`, `user:<id>`, or `system` if the author is not known. */
            by: string;
            note: string | null;
            /** @description True if the database could not be written when it came into force. */
            late: boolean;
            /** @description Its differences from the previous policy: `change` (`more`, `less`, `other`, `undecided`), `permission`, `who`, `before`, `after`; null until they are computed. */
            changes: {
                [key: string]: unknown;
            }[] | null;
            files: {
                [key: string]: string;
            };
            /** @description The names of the files that came with plugins. To return to this version, leave them out. */
            packaged: string[];
        };
        MatrixPart: {
            /** @description The condition that the rule has here, in the words of model.conf; `always` if it has none. */
            word: string;
            /**
             * @description The key of the rule in `lines`.
             * @example users.csv:14
             */
            place: string;
        };
        MatrixCell: {
            allow: components["schemas"]["MatrixPart"][];
            deny: components["schemas"]["MatrixPart"][];
            /** @description True if it is allowed in every case. */
            always: boolean;
        };
        MatrixRow: {
            permission: string;
            /** @description Cells by role. */
            cells: {
                [key: string]: components["schemas"]["MatrixCell"];
            };
        };
        MatrixResource: {
            resource: string;
            permissions: components["schemas"]["MatrixRow"][];
        };
        MatrixLine: {
            file: string;
            line: number;
            /** @description The text of the rule in the file. */
            rule: string;
            /** @description The lines of the comment directly above it. A heading does not count as a comment. */
            comment: string[];
        };
        MatrixColumn: {
            /** Format: uuid */
            id: string;
            name: string | null;
            role: string | null;
            /** @description The number of rules that name the user. Lines that give a role count, too. */
            lines: number;
            /** @description Cells by permission, from the rules about the user and about the user's role together. */
            cells: {
                [key: string]: components["schemas"]["MatrixCell"];
            };
        };
        MatrixPerson: {
            /** Format: uuid */
            id: string;
            name: string | null;
            role: string | null;
            /** @description The number of rules that name the user. Lines that give a role count, too. */
            lines: number;
        };
        MatrixPersons: {
            items: components["schemas"]["MatrixPerson"][];
            /** @description The number of all matching users; null if `limit` is 0. */
            total: number | null;
            has_next: boolean;
        };
        Matrix: {
            version: string;
            /** @description The number of current rules that the caller may see. */
            line_count: number;
            /** @description The columns, in order. */
            roles: string[];
            resources: components["schemas"]["MatrixResource"][];
            /** @description The rules behind the cells, by place. */
            lines: {
                [key: string]: components["schemas"]["MatrixLine"];
            };
            /** @description The meaning of each word in the cells. */
            conditions: {
                [key: string]: string;
            };
            /** @description The permissions that each scope covers, as written. */
            scopes: {
                [key: string]: string[];
            };
            /** @description The user in the question; null if there is none. */
            person: components["schemas"]["MatrixColumn"] | null;
            persons: components["schemas"]["MatrixPersons"];
        };
        PastDecision: {
            audit: string;
            /** Format: date-time */
            time: string;
            as: string;
            role: string;
            summary: string;
            permission: string;
            /** @description The permissions in the order in which they were evaluated. */
            asked: string[];
            object: string | null;
            /** @description The number of equal decisions. */
            count: number;
            /**
             * @description `hidden` is a refusal with 404; null: it was not recorded which.
             * @enum {string|null}
             */
            answered: "allowed" | "refused" | "hidden" | null;
            /** @enum {string} */
            policy_alone: "allowed" | "refused" | "hidden" | "unknown";
            /** @description True if both answers are the same; null if that depends on unrecorded facts. */
            agrees: boolean | null;
            /** @description Unrecorded facts that the decision depends on. */
            not_recorded: string[];
            decided_by: components["schemas"]["Line"] | null;
            nearest_misses: components["schemas"]["Line"][];
            policy_version: string;
        };
        Past: {
            decisions: components["schemas"]["PastDecision"][];
            /** @description The reason why the policy version of that time cannot be used; null if it can. */
            error: string | null;
        };
        Holding: {
            role: string;
            /** @description The sources of the role: `stored`, `inherited from editor`, `lent by roles.csv:14`, `given to oidc:team/staff by roles.csv:15`. The last one is left out if you may not see the groups. */
            how: string[];
        };
        Reviewed: {
            /** Format: uuid */
            id: string;
            name: string;
            /** @description Left out if you may not see it, like `active`. */
            email?: string;
            role: string;
            /** @description True if they can log in. */
            active?: boolean;
            roles: components["schemas"]["Holding"][];
            /** @description The places of rules that name this user: `users.csv:14`. */
            lines: string[];
            /**
             * Format: date-time
             * @description null: not known.
             */
            last_login: string | null;
            /**
             * Format: date-time
             * @description The time of their newest audit event, session refresh or use of a token; null: not known. Reads within a session are not recorded.
             */
            last_use: string | null;
            /** @description The number of valid service tokens. */
            tokens: number;
            /** @description Left out like `email`, and so are the next three. */
            groups?: string[];
            /** Format: date-time */
            email_verified_at?: string | null;
            /** @description True if they can log in with a password. */
            password?: boolean;
            /**
             * @description Facts of features by name: `second_factor` (a truth value), `passkeys` (a number), `identities` (names of providers).
             * @example {
             *       "second_factor": true,
             *       "passkeys": 0,
             *       "identities": [
             *         "keycloak"
             *       ]
             *     }
             */
            facts?: {
                [key: string]: unknown;
            };
        };
        ReviewedList: {
            items: components["schemas"]["Reviewed"][];
            has_next: boolean;
            has_prev?: boolean;
            next_cursor?: string | null;
            prev_cursor?: string | null;
            page?: number;
            page_size?: number;
            total?: number | null;
            total_estimate?: number;
        };
        IdleLine: {
            file: string;
            line: number;
            text: string;
            /** @description The reason why no answer changes without it. */
            reason: string;
        };
        UnusedLine: {
            file: string;
            line: number;
            text: string;
        };
        UnusedPermission: {
            permission: string;
            /** @description True if a rule grants it. */
            given: boolean;
        };
        Unused: {
            /** Format: date-time */
            since: string;
            /** @description The number of rules that were examined. */
            lines: number;
            /** @description Proved: no answer changes when all of these are removed. */
            without_effect: components["schemas"]["IdleLine"][];
            /** @description Rules that decided nothing since then, by the counts. They may still be needed. */
            not_seen: components["schemas"]["UnusedLine"][];
            /** @description Permissions that no allowed request has used since then. */
            permissions: components["schemas"]["UnusedPermission"][];
            /** @description Sentences about periods without counts. */
            gaps: string[];
        };
        VisibleRow: {
            /** Format: uuid */
            id: string;
            visible: boolean;
            /** @description The fields of the row that they do not get. */
            hidden: string[];
            /** @description The actions that they may perform on it now: their `allowed_actions`. */
            actions: string[];
        };
        Visible: {
            as: string;
            role: string;
            /** @description null for a role. */
            name: string | null;
            /** @description True if they can log in; null for a role, or if you may not see it. */
            active: boolean | null;
            collection: string;
            items: components["schemas"]["VisibleRow"][];
        };
        Person: {
            /** Format: uuid */
            id: string;
            name: string;
        };
        Place: {
            file: string;
            line: number;
        };
        Holder: {
            /** @description null: guests. */
            user: components["schemas"]["Person"] | null;
            role: string;
            /** @description A rule that allows it, if possible one without a condition. */
            rule: components["schemas"]["Place"] | null;
            /** @description The required time, address or device, in the words of model.conf; null: always. */
            when: string | null;
            /** @description The number of valid service tokens of the user that may do it. Tokens hidden from the caller do not count. */
            tokens: number;
        };
        HolderList: {
            items: components["schemas"]["Holder"][];
            has_next: boolean;
            has_prev?: boolean;
            next_cursor?: string | null;
            prev_cursor?: string | null;
            page?: number;
            page_size?: number;
            total?: number | null;
            total_estimate?: number;
        };
        LoginCode: {
            /** @description From the answer to the login. */
            challenge: string;
            /** @description The code that the app shows, or a recovery code. */
            code: string;
            /** @description As in the login. false unless given. */
            cookie?: boolean;
        };
        Token: {
            access_token: string;
            /** @enum {string} */
            token_type: "Bearer";
            /** @description Seconds. */
            expires_in: number;
            /** @description Absent where it is in the cookie. */
            refresh_token?: string;
            scope: string;
        };
        SecondFactor: {
            active: boolean;
            /** Format: date-time */
            confirmed_at: string | null;
            /** @description Recovery codes that are left. */
            recovery_codes: number;
        };
        SecondFactorSetup: {
            /** @description Your own password, to set up a second factor: not needed within 10 minutes of a login. */
            current_password?: string | null;
        };
        SecondFactorSecret: {
            /** @description The secret in base32, to type into an app. */
            secret: string;
            /** @description The same as URI for apps: `otpauth://totp/…`. */
            uri: string;
            /** @description The URI as QR code: an SVG image. */
            qr_code: string;
            /**
             * Format: date-time
             * @description Until then, a code confirms it.
             */
            expires_at: string;
        };
        SecondFactorConfirmation: {
            /** @description The code that the app shows. */
            code: string;
        };
        RecoveryCodes: {
            recovery_codes: string[];
        };
        SecondFactorChange: {
            /** @description A code of the app, or a recovery code. */
            code: string;
            /** @description Your own password, to change the second factor: not needed within 10 minutes of a login. */
            current_password?: string | null;
        };
        Login: {
            /** @example noor@example.org */
            email: string;
            /** @example seven green lanterns */
            password: string;
            /** @description Whether the refresh token comes as a cookie, which scripts cannot read: for pages of the service's own origin. false unless given. */
            cookie?: boolean;
        };
        Refresh: {
            /** @description Needed, unless the cookie of a login is sent. */
            refresh_token?: string;
        };
        Logout: {
            /** @description false unless given. */
            all?: boolean;
        };
        Register: {
            /** @example Noor Visser */
            name: string;
            /** @example noor@example.org */
            email: string;
            /** @example seven green lanterns */
            password: string;
        };
        Registered: {
            id: string;
            name: string;
            role: string;
        };
        Account: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            tenant_id: string;
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            owner_id: string;
            /** @example Noor Visser */
            name: string;
            /** @example noor@example.org */
            email: string;
            /**
             * Format: date-time
             * @description When the user proved that they get the mail of this address. Null after a change of it.
             */
            email_verified_at: string | null;
            /** @description A role of the policy. */
            role: string;
            department: string | null;
            groups: string[];
            active: boolean;
            /** @description What the rules in force let the caller do to some object at this moment, within the scopes of their token: `user.*` where that is all that can be done to users, `*` where it is all there is. */
            permissions: string[];
        };
        ProfileChanges: {
            /** @example Noor van Visser */
            name?: string;
            email?: string;
            /** @description Your own password, to change your e-mail address: not needed within 10 minutes of a login. */
            current_password?: string | null;
        };
        Password: {
            /** @example seven green lanterns */
            current_password: string;
            /** @example nine slow ferries */
            new_password: string;
        };
        KeySet: {
            keys: {
                [key: string]: unknown;
            }[];
        };
        /** @enum {string} */
        ArticleField: "id" | "tenant_id" | "version" | "created_at" | "updated_at" | "owner_id" | "department" | "title" | "slug" | "body" | "language" | "category_id" | "status" | "published_at" | "allowed_actions";
        /** @enum {string} */
        ArticleSort: "-created_at" | "-published_at" | "-status,created_at" | "-title" | "-updated_at" | "created_at" | "published_at" | "status,-created_at" | "title" | "updated_at";
        /** @enum {string} */
        ArticleExpansion: "category" | "owner";
        ArticleList: {
            items: components["schemas"]["Article"][];
            has_next: boolean;
            has_prev?: boolean;
            next_cursor?: string | null;
            prev_cursor?: string | null;
            page?: number;
            page_size?: number;
            total?: number | null;
            total_estimate?: number;
        };
        NewArticle: {
            /** Format: uuid */
            owner_id?: string | null;
            /** @example A walk along the river */
            title: string;
            /** @example a-walk-along-the-river */
            slug: string;
            /** @example It begins at the old mill. */
            body: string;
            /**
             * @description "en" unless given.
             * @example en
             */
            language?: string;
            /** Format: uuid */
            category_id?: string | null;
        };
        ArticleChanges: {
            /** Format: uuid */
            owner_id?: string | null;
            /** @example A walk along the river */
            title?: string;
            /** @example a-walk-along-the-river */
            slug?: string;
            /** @example It begins at the old mill. */
            body?: string;
            /** @example en */
            language?: string;
            /** Format: uuid */
            category_id?: string | null;
        };
        LineFault: {
            line: number;
            code: string;
            detail: string;
            pointer: string | null;
        };
        PlannedField: {
            field: string;
            /** @description null for a new row. */
            before: unknown;
            after: unknown;
        };
        PlannedLine: {
            line: number;
            /** @enum {string} */
            outcome: "created" | "changed" | "unchanged";
            /** @description The row; null for a new one. */
            id: string | null;
            changes: components["schemas"]["PlannedField"][];
        };
        Imported: {
            /** @description New rows. */
            imported: number;
            /** @description Lines whose row was there already. */
            updated: number;
            /** @description Lines that were left out. */
            failed: number;
            errors: components["schemas"]["LineFault"][];
            /** @description Of `updated`, lines that change nothing: only of a dry run. */
            unchanged?: number;
            /** @description The first 1000 lines that can be imported: only of a dry run. */
            lines?: components["schemas"]["PlannedLine"][];
        };
        /** @enum {string} */
        ShareField: "grantee" | "right" | "granted_by" | "created_at";
        /** @enum {string} */
        ShareSort: "-created_at" | "created_at";
        /** @enum {string} */
        ShareRight: "delete" | "manage" | "read" | "write";
        Share: {
            /**
             * @description Use user:<id>, group:<name> or role:<name>.
             * @example user:01941f29-7c00-7000-8000-7dfb4cf67742
             */
            grantee: string;
            /** @example read */
            right: components["schemas"]["ShareRight"];
            /** Format: uuid */
            granted_by: string | null;
            /** Format: date-time */
            created_at: string;
        };
        ShareList: {
            items: components["schemas"]["Share"][];
            has_next: boolean;
            has_prev?: boolean;
            next_cursor?: string | null;
            prev_cursor?: string | null;
            page?: number;
            page_size?: number;
            total?: number | null;
            total_estimate?: number;
        };
        NewShare: {
            /**
             * @description Use user:<id>, group:<name> or role:<name>.
             * @example user:01941f29-7c00-7000-8000-7dfb4cf67742
             */
            grantee: string;
            /**
             * @example read
             * @enum {string}
             */
            right: "read" | "write" | "delete" | "manage";
        };
        /** @enum {string} */
        AuditField: "id" | "time" | "principal" | "role" | "action" | "resource" | "resource_id" | "address" | "result" | "reason" | "policy_version" | "request_id" | "facts" | "count" | "allowed_actions";
        /** @enum {string} */
        AuditSort: "-time" | "time";
        AuditList: {
            items: components["schemas"]["Audit"][];
            has_next: boolean;
            has_prev?: boolean;
            next_cursor?: string | null;
            prev_cursor?: string | null;
            page?: number;
            page_size?: number;
            total?: number | null;
            total_estimate?: number;
        };
        Seal: {
            /**
             * Format: date-time
             * @description The time of the seal.
             */
            created_at: string | null;
            /** @description The head, as `gatepost audit export --heads` writes it. */
            head: string | null;
            /** @description True if this event, and each other event that its seal covers, is unchanged. `gatepost audit verify --heads` also proves that the end of the chain was not cut off. */
            proved: boolean | null;
        };
        /** @enum {string} */
        CategoryField: "id" | "tenant_id" | "version" | "created_at" | "updated_at" | "owner_id" | "department" | "name" | "slug" | "parent_id" | "allowed_actions";
        /** @enum {string} */
        CategorySort: "-created_at" | "-name" | "-updated_at" | "created_at" | "name" | "updated_at";
        /** @enum {string} */
        CategoryExpansion: "parent" | "owner";
        CategoryList: {
            items: components["schemas"]["Category"][];
            has_next: boolean;
            has_prev?: boolean;
            next_cursor?: string | null;
            prev_cursor?: string | null;
            page?: number;
            page_size?: number;
            total?: number | null;
            total_estimate?: number;
        };
        NewCategory: {
            /** Format: uuid */
            owner_id?: string | null;
            /** @example Walks */
            name: string;
            /** @example walks */
            slug: string;
            /** Format: uuid */
            parent_id?: string | null;
        };
        CategoryChanges: {
            /** Format: uuid */
            owner_id?: string | null;
            /** @example Walks */
            name?: string;
            /** @example walks */
            slug?: string;
            /** Format: uuid */
            parent_id?: string | null;
        };
        /** @enum {string} */
        CommentField: "id" | "tenant_id" | "version" | "created_at" | "updated_at" | "owner_id" | "department" | "article_id" | "body" | "status" | "allowed_actions";
        /** @enum {string} */
        CommentSort: "-created_at" | "-status,created_at" | "-updated_at" | "created_at" | "status,-created_at" | "updated_at";
        /** @enum {string} */
        CommentExpansion: "article" | "owner";
        CommentList: {
            items: components["schemas"]["Comment"][];
            has_next: boolean;
            has_prev?: boolean;
            next_cursor?: string | null;
            prev_cursor?: string | null;
            page?: number;
            page_size?: number;
            total?: number | null;
            total_estimate?: number;
        };
        NewComment: {
            /** Format: uuid */
            owner_id?: string | null;
            /** Format: uuid */
            article_id: string;
            /** @example I was there last week. */
            body: string;
        };
        CommentReplacement: {
            /** Format: uuid */
            owner_id?: string | null;
            /** @example I was there last week. */
            body: string;
        };
        CommentChanges: {
            /** Format: uuid */
            owner_id?: string | null;
            /** @example I was there last week. */
            body?: string;
        };
        /** @enum {string} */
        ContactField: "id" | "tenant_id" | "version" | "created_at" | "updated_at" | "name" | "email" | "subject" | "body" | "allowed_actions";
        /** @enum {string} */
        ContactSort: "-created_at" | "-updated_at" | "created_at" | "updated_at";
        ContactList: {
            items: components["schemas"]["Contact"][];
            has_next: boolean;
            has_prev?: boolean;
            next_cursor?: string | null;
            prev_cursor?: string | null;
            page?: number;
            page_size?: number;
            total?: number | null;
            total_estimate?: number;
        };
        NewContact: {
            /** @example Noor Visser */
            name: string;
            /** @example noor@example.org */
            email: string;
            /** @example Opening hours */
            subject: string;
            /** @example Are you open on Sundays? */
            body: string;
        };
        Receipt: {
            /** Format: uuid */
            id: string;
        };
        /** @enum {string} */
        JobField: "id" | "kind" | "state" | "progress" | "attempts" | "created_at" | "done_at" | "result";
        /** @enum {string} */
        JobSort: "-created_at" | "created_at";
        JobList: {
            items: components["schemas"]["Job"][];
            has_next: boolean;
            has_prev?: boolean;
            next_cursor?: string | null;
            prev_cursor?: string | null;
            page?: number;
            page_size?: number;
            total?: number | null;
            total_estimate?: number;
        };
        /** @enum {string} */
        OrderField: "id" | "tenant_id" | "version" | "created_at" | "updated_at" | "owner_id" | "department" | "items" | "note" | "total" | "currency" | "status" | "allowed_actions";
        /** @enum {string} */
        OrderSort: "-created_at" | "-status,created_at" | "-total" | "-updated_at" | "created_at" | "status,-created_at" | "total" | "updated_at";
        /** @enum {string} */
        OrderExpansion: "owner" | "items.product";
        OrderList: {
            items: components["schemas"]["Order"][];
            has_next: boolean;
            has_prev?: boolean;
            next_cursor?: string | null;
            prev_cursor?: string | null;
            page?: number;
            page_size?: number;
            total?: number | null;
            total_estimate?: number;
        };
        NewOrderItem: {
            /** Format: uuid */
            product_id: string;
            /** @example 1 */
            quantity: number;
        };
        NewOrder: {
            /** Format: uuid */
            owner_id?: string | null;
            items: components["schemas"]["NewOrderItem"][];
            /** @example Ring twice. */
            note?: string | null;
        };
        OrderReplacement: {
            /** Format: uuid */
            owner_id?: string | null;
            /** @example Ring twice. */
            note?: string | null;
        };
        OrderChanges: {
            /** Format: uuid */
            owner_id?: string | null;
            /** @example Ring twice. */
            note?: string | null;
        };
        /** @enum {string} */
        PageField: "id" | "tenant_id" | "version" | "created_at" | "updated_at" | "owner_id" | "department" | "slug" | "title" | "body" | "language" | "status" | "published_at" | "allowed_actions";
        /** @enum {string} */
        PageSort: "-created_at" | "-published_at" | "-slug" | "-status,created_at" | "-title" | "-updated_at" | "created_at" | "published_at" | "slug" | "status,-created_at" | "title" | "updated_at";
        /** @enum {string} */
        PageExpansion: "owner";
        PageList: {
            items: components["schemas"]["Page"][];
            has_next: boolean;
            has_prev?: boolean;
            next_cursor?: string | null;
            prev_cursor?: string | null;
            page?: number;
            page_size?: number;
            total?: number | null;
            total_estimate?: number;
        };
        PageText: {
            /** Format: uuid */
            id?: string;
            /** Format: uuid */
            tenant_id?: string;
            version?: number;
            /** Format: date-time */
            created_at?: string;
            /** Format: date-time */
            updated_at?: string;
            /** Format: uuid */
            owner_id?: string | null;
            department?: string | null;
            /** @example opening-hours */
            slug: string;
            /** @example Opening hours */
            title: string;
            /** @example From nine to five. */
            body: string;
            /** @example en */
            language: string;
            status?: components["schemas"]["PageStatus"];
            /** Format: date-time */
            published_at?: string | null;
            /** @description The object itself, when `expand` names `owner`. */
            owner?: components["schemas"]["User"] | null;
            /** @description What this caller may do to it now, when `fields` names it. */
            allowed_actions?: ("update" | "delete" | "share" | "archive" | "publish")[];
        };
        NewPage: {
            /** Format: uuid */
            owner_id?: string | null;
            /** @example opening-hours */
            slug: string;
            /** @example Opening hours */
            title: string;
            /** @example From nine to five. */
            body: string;
            /** @example en */
            language: string;
        };
        PageChanges: {
            /** Format: uuid */
            owner_id?: string | null;
            /** @example opening-hours */
            slug?: string;
            /** @example Opening hours */
            title?: string;
            /** @example From nine to five. */
            body?: string;
            /** @example en */
            language?: string;
        };
        /** @enum {string} */
        ProductField: "id" | "tenant_id" | "version" | "created_at" | "updated_at" | "owner_id" | "department" | "name" | "sku" | "description" | "price" | "currency" | "stock" | "category_id" | "status" | "allowed_actions";
        /** @enum {string} */
        ProductSort: "-created_at" | "-name" | "-price" | "-status,created_at" | "-stock" | "-updated_at" | "created_at" | "name" | "price" | "status,-created_at" | "stock" | "updated_at";
        /** @enum {string} */
        ProductExpansion: "category" | "owner";
        ProductList: {
            items: components["schemas"]["Product"][];
            has_next: boolean;
            has_prev?: boolean;
            next_cursor?: string | null;
            prev_cursor?: string | null;
            page?: number;
            page_size?: number;
            total?: number | null;
            total_estimate?: number;
        };
        NewProduct: {
            /** Format: uuid */
            owner_id?: string | null;
            /** @example Walnut desk */
            name: string;
            /** @example desk-walnut */
            sku: string;
            description?: string | null;
            /**
             * @description Minor units of `currency`.
             * @example 24900
             */
            price: number;
            /** @example EUR */
            currency: string;
            /**
             * @description 0 unless given.
             * @example 12
             */
            stock?: number;
            /** Format: uuid */
            category_id?: string | null;
        };
        ProductChanges: {
            /** Format: uuid */
            owner_id?: string | null;
            /** @example Walnut desk */
            name?: string;
            /** @example desk-walnut */
            sku?: string;
            description?: string | null;
            /**
             * @description Minor units of `currency`.
             * @example 24900
             */
            price?: number;
            /** @example EUR */
            currency?: string;
            /** @example 12 */
            stock?: number;
            /** Format: uuid */
            category_id?: string | null;
        };
        /** @enum {string} */
        SessionField: "id" | "created_at" | "last_used_at" | "address" | "device" | "kind" | "current";
        /** @enum {string} */
        SessionSort: "-created_at" | "created_at";
        SessionList: {
            items: components["schemas"]["Session"][];
            has_next: boolean;
            has_prev?: boolean;
            next_cursor?: string | null;
            prev_cursor?: string | null;
            page?: number;
            page_size?: number;
            total?: number | null;
            total_estimate?: number;
        };
        /** @enum {string} */
        ServiceTokenField: "id" | "name" | "scopes" | "expires_at" | "last_used_at" | "token" | "allowed_actions";
        /** @enum {string} */
        ServiceTokenSort: "-created_at" | "created_at";
        ServiceTokenList: {
            items: components["schemas"]["ServiceToken"][];
            has_next: boolean;
            has_prev?: boolean;
            next_cursor?: string | null;
            prev_cursor?: string | null;
            page?: number;
            page_size?: number;
            total?: number | null;
            total_estimate?: number;
        };
        NewServiceToken: {
            /** @example Copy of the users */
            name: string;
            /**
             * @example [
             *       "read:users"
             *     ]
             */
            scopes: string[];
            /** @description Seconds; 90 days unless given, at most the setting token_max_days. */
            expires_in?: number;
            /** @description Your own password, to make a token: not needed within 10 minutes of a login. */
            current_password?: string | null;
        };
        /** @enum {string} */
        UserField: "id" | "tenant_id" | "version" | "created_at" | "updated_at" | "owner_id" | "name" | "email" | "email_verified_at" | "role" | "department" | "groups" | "active" | "allowed_actions";
        /** @enum {string} */
        UserSort: "-created_at" | "-email" | "-name" | "-updated_at" | "created_at" | "email" | "name" | "updated_at";
        UserList: {
            items: components["schemas"]["User"][];
            has_next: boolean;
            has_prev?: boolean;
            next_cursor?: string | null;
            prev_cursor?: string | null;
            page?: number;
            page_size?: number;
            total?: number | null;
            total_estimate?: number;
        };
        NewUser: {
            /** @example Noor Visser */
            name: string;
            /** @example noor@example.org */
            email: string;
            /**
             * @description Without one, the user cannot log in until they choose one by a password link.
             * @example seven green lanterns
             */
            password?: string;
            /** @description A role of the policy. "user" unless given. */
            role?: string;
            department?: string | null;
            groups?: string[];
        };
        UserReplacement: {
            /** @example Noor Visser */
            name: string;
            /** @example noor@example.org */
            email?: string;
            /** @description A role of the policy. "user" unless given. */
            role?: string;
            department?: string | null;
            groups?: string[];
            /** @description Your own password, to change your own e-mail address: not needed within 10 minutes of a login. */
            current_password?: string | null;
        };
        UserChanges: {
            /** @example Noor Visser */
            name?: string;
            /** @example noor@example.org */
            email?: string;
            /** @description A role of the policy. */
            role?: string;
            department?: string | null;
            groups?: string[];
            /** @description Your own password, to change your own e-mail address: not needed within 10 minutes of a login. */
            current_password?: string | null;
        };
    };
    responses: never;
    parameters: {
        /**
         * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
         * @example de
         */
        lang: string;
        /** @description The id of the object. */
        id: string;
        /** @description At this time, such as 2026-11-18T22:00: in the zone of the settings unless it has an offset. */
        at: string;
        /** @description From this address. */
        ip: string;
        /** @description With this kind of device. */
        device: "desktop" | "mobile" | "tablet" | "bot" | "other";
        /** @description By this method, instead of the one that the permission is asked for with. */
        method: "GET" | "POST" | "HEAD" | "PUT" | "PATCH" | "DELETE";
        /** @description An e-mail, a user's id, or a role. */
        as: string;
        /** @description The permission, such as user.update. */
        permission: string;
        /** @description How many rows a page has at most. It has 20 unless given. */
        limit: number;
        /** @description Another name of `limit`. */
        page_size: number;
        /** @description As `limit`, of pages that go forward: with `after`. */
        first: number;
        /** @description As `limit`, of pages that go back: with `before`, which it needs. */
        last: number;
        /** @description Another name of `after`. */
        cursor: string;
        /** @description A cursor that an earlier answer had: the page begins behind its row. */
        after: string;
        /** @description A cursor that an earlier answer had: the page ends before its row. */
        before: string;
        /** @description The number of the page, from 1; instead of a cursor. */
        page: number;
        /** @description How many rows to skip; instead of a cursor. */
        offset: number;
        /** @description Leave out rows created after the first page was read; with cursors alone. */
        snapshot: boolean;
        /** @description Only rows whose role is exactly this. */
        role: string;
        /** @description Only rows that are active (`true`), or only rows that are not (`false`). */
        active: boolean;
        /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
        "articles.fields": components["schemas"]["ArticleField"][];
        /** @description The order of the rows; `-` stands before what descends. Without it: `-created_at`. */
        "articles.sort": components["schemas"]["ArticleSort"];
        /** @description Only rows that have all these words in title or body. Words in double quotes must stand beside each other. */
        q: string;
        /** @description What becomes of rows that only a share opens to the caller: they are listed with the others (`include`, the default), or left out (`exclude`). `only` lists nothing but rows that are shared with the caller. */
        shared: "include" | "exclude" | "only";
        /** @description Only rows whose status is exactly this. */
        "articles.status": components["schemas"]["ArticleStatus"];
        /** @description Only rows whose status is any other than this. */
        "articles.status__ne": components["schemas"]["ArticleStatus"];
        /** @description Only rows whose status is one of these, which are separated by commas; one with a comma stands in double quotes. */
        "articles.status__in": components["schemas"]["ArticleStatus"][];
        /** @description Only rows whose title is exactly this. */
        "articles.title": string;
        /** @description Only rows whose title contains this text. */
        title__contains: string;
        /** @description Only rows whose title starts with this text. */
        "articles.title__startswith": string;
        /** @description Only rows whose slug is exactly this. */
        slug: string;
        /** @description Only rows whose slug is one of these, which are separated by commas; one with a comma stands in double quotes. */
        slug__in: string[];
        /** @description Only rows whose language is exactly this. */
        language: string;
        /** @description Only rows whose language is one of these, which are separated by commas; one with a comma stands in double quotes. */
        language__in: string[];
        /** @description Only rows whose category has this id or slug. */
        category: string;
        /** @description Only rows whose category has this id. */
        category_id: string;
        /** @description Only rows whose category has one of these ids, which are separated by commas. */
        category_id__in: string[];
        /** @description Only rows without any category (`true`), or only rows that have one (`false`). */
        category_id__isnull: boolean;
        /** @description Only rows whose owner has this id. */
        owner_id: string;
        /** @description Only rows whose owner has one of these ids, which are separated by commas. */
        owner_id__in: string[];
        /** @description Only rows created at this time or later. */
        created_at__gte: string;
        /** @description Only rows created before this time. */
        created_at__lt: string;
        /** @description Only rows published at this time or later. */
        "articles.published_at__gte": string;
        /** @description Only rows published before this time. */
        "articles.published_at__lt": string;
        /** @description Only rows that were never published (`true`), or only rows that were (`false`). */
        "articles.published_at__isnull": boolean;
        /** @description References to answer as objects beside their ids, separated by commas. */
        "articles.expand": components["schemas"]["ArticleExpansion"][];
        /**
         * @description The id of the object.
         * @example 01941f29-7c00-7000-8000-906c7ff47cd7
         */
        "articles.id": string;
        /** @description skip: leave out the lines that fail, as long as fewer than a thousand faults are found. Without it, one failing line undoes all. */
        on_error: "skip";
        /** @description true: report what the import would do, and store nothing. Faulty lines are listed, and do not refuse the file. */
        dry_run: boolean;
        /** @description A line updates the row that has this value, if there is one. */
        key: "slug";
        /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
        fields: components["schemas"]["ShareField"][];
        /** @description The order of the rows; `-` stands before what descends. Without it: `created_at`. */
        sort: components["schemas"]["ShareSort"];
        /** @description Use user:<id>, group:<name> or role:<name>. `me` is the caller's own user:<id>, which no permission is needed to give up. */
        grantee: string;
        /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
        "audit.fields": components["schemas"]["AuditField"][];
        /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
        "categories.fields": components["schemas"]["CategoryField"][];
        /** @description The order of the rows; `-` stands before what descends. Without it: `name`. */
        "categories.sort": components["schemas"]["CategorySort"];
        /** @description Only rows whose name is exactly this. */
        name: string;
        /** @description Only rows whose name contains this text. */
        name__contains: string;
        /** @description Only rows whose name starts with this text. */
        name__startswith: string;
        /** @description Only rows whose parent has this id. */
        "categories.parent_id": string;
        /** @description Only rows without any parent (`true`), or only rows that have one (`false`). */
        "categories.parent_id__isnull": boolean;
        /** @description References to answer as objects beside their ids, separated by commas. */
        "categories.expand": components["schemas"]["CategoryExpansion"][];
        /**
         * @description The id of the object.
         * @example 01941f29-7c00-7000-8000-a6216ea03e57
         */
        "categories.id": string;
        /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
        "comments.fields": components["schemas"]["CommentField"][];
        /** @description The order of the rows; `-` stands before what descends. Without it: `-created_at`. */
        "comments.sort": components["schemas"]["CommentSort"];
        /** @description Only rows that have all these words in body. Words in double quotes must stand beside each other. */
        "comments.q": string;
        /** @description Only rows whose status is exactly this. */
        "comments.status": components["schemas"]["CommentStatus"];
        /** @description Only rows whose status is any other than this. */
        "comments.status__ne": components["schemas"]["CommentStatus"];
        /** @description Only rows whose status is one of these, which are separated by commas; one with a comma stands in double quotes. */
        "comments.status__in": components["schemas"]["CommentStatus"][];
        /** @description Only rows whose article has this id. */
        "comments.article_id": string;
        /** @description Only rows whose article has one of these ids, which are separated by commas. */
        "comments.article_id__in": string[];
        /** @description Only rows whose body contains this text. */
        body__contains: string;
        /** @description References to answer as objects beside their ids, separated by commas. */
        "comments.expand": components["schemas"]["CommentExpansion"][];
        /**
         * @description The id of the object.
         * @example 01941f29-7c00-7000-8000-2b4244fb2663
         */
        "comments.id": string;
        /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
        "contact.fields": components["schemas"]["ContactField"][];
        /** @description Only rows whose email is exactly this. */
        email: string;
        /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
        "jobs.fields": components["schemas"]["JobField"][];
        /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
        "orders.fields": components["schemas"]["OrderField"][];
        /** @description The order of the rows; `-` stands before what descends. Without it: `-created_at`. */
        "orders.sort": components["schemas"]["OrderSort"];
        /** @description Only rows whose status is exactly this. */
        "orders.status": components["schemas"]["OrderStatus"];
        /** @description Only rows whose status is any other than this. */
        "orders.status__ne": components["schemas"]["OrderStatus"];
        /** @description Only rows whose status is one of these, which are separated by commas; one with a comma stands in double quotes. */
        "orders.status__in": components["schemas"]["OrderStatus"][];
        /** @description Only rows whose total is exactly this. */
        "orders.total": number;
        /** @description Only rows whose total is less than this. */
        "orders.total__lt": number;
        /** @description Only rows whose total is at most this. */
        "orders.total__lte": number;
        /** @description Only rows whose total is more than this. */
        "orders.total__gt": number;
        /** @description Only rows whose total is at least this. */
        "orders.total__gte": number;
        /** @description Only rows whose currency is exactly this. */
        currency: string;
        /** @description References to answer as objects beside their ids, separated by commas. */
        "orders.expand": components["schemas"]["OrderExpansion"][];
        /**
         * @description The id of the object.
         * @example 01941f29-7c00-7000-8000-1c168adb00d2
         */
        "orders.id": string;
        /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
        "pages.fields": components["schemas"]["PageField"][];
        /** @description The order of the rows; `-` stands before what descends. Without it: `slug`. */
        "pages.sort": components["schemas"]["PageSort"];
        /** @description Only rows whose status is exactly this. */
        "pages.status": components["schemas"]["PageStatus"];
        /** @description Only rows whose status is one of these, which are separated by commas; one with a comma stands in double quotes. */
        "pages.status__in": components["schemas"]["PageStatus"][];
        /** @description References to answer as objects beside their ids, separated by commas. */
        "pages.expand": components["schemas"]["PageExpansion"][];
        /**
         * @description The id of the object.
         * @example 01941f29-7c00-7000-8000-bfa062de040f
         */
        "pages.id": string;
        /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
        "products.fields": components["schemas"]["ProductField"][];
        /** @description The order of the rows; `-` stands before what descends. Without it: `-created_at`. */
        "products.sort": components["schemas"]["ProductSort"];
        /** @description Only rows that have all these words in name or description. Words in double quotes must stand beside each other. */
        "products.q": string;
        /** @description Only rows whose status is exactly this. */
        "products.status": components["schemas"]["ProductStatus"];
        /** @description Only rows whose status is any other than this. */
        "products.status__ne": components["schemas"]["ProductStatus"];
        /** @description Only rows whose status is one of these, which are separated by commas; one with a comma stands in double quotes. */
        "products.status__in": components["schemas"]["ProductStatus"][];
        /** @description Only rows whose sku is exactly this. */
        "products.sku": string;
        /** @description Only rows whose sku is one of these, which are separated by commas; one with a comma stands in double quotes. */
        "products.sku__in": string[];
        /** @description Only rows whose price is exactly this. */
        "products.price": number;
        /** @description Only rows whose price is less than this. */
        "products.price__lt": number;
        /** @description Only rows whose price is at most this. */
        "products.price__lte": number;
        /** @description Only rows whose price is more than this. */
        "products.price__gt": number;
        /** @description Only rows whose price is at least this. */
        "products.price__gte": number;
        /** @description Only rows whose stock is exactly this. */
        "products.stock": number;
        /** @description Only rows whose stock is less than this. */
        "products.stock__lt": number;
        /** @description Only rows whose stock is at least this. */
        "products.stock__gte": number;
        /** @description References to answer as objects beside their ids, separated by commas. */
        "products.expand": components["schemas"]["ProductExpansion"][];
        /**
         * @description The id of the object.
         * @example 01941f29-7c00-7000-8000-0a3e27b8ca81
         */
        "products.id": string;
        /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
        "users.fields": components["schemas"]["UserField"][];
        /** @description The order of the rows; `-` stands before what descends. Without it: `name`. */
        "users.sort": components["schemas"]["UserSort"];
        /** @description Only rows whose role is one of these, which are separated by commas; one with a comma stands in double quotes. */
        "users.role__in": string[];
        /** @description Only rows whose email starts with this text. */
        "users.email__startswith": string;
        /** @description Only rows that were never email verified (`true`), or only rows that were (`false`). */
        "users.email_verified_at__isnull": boolean;
        /** @description Only rows whose department is exactly this. */
        "users.department": string;
        /** @description Only rows without any department (`true`), or only rows that have one (`false`). */
        "users.department__isnull": boolean;
        /** @description Only rows that have this among their groups. */
        "users.groups__has": string;
        /**
         * @description The id of the object.
         * @example 01941f29-7c00-7000-8000-7dfb4cf67742
         */
        "users.id": string;
    };
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export interface operations {
    admin_activity: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description How many minutes, up to the one that is running. 60 unless given. */
                minutes?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Activity"];
                };
            };
        };
    };
    admin_sizes: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sizes"];
                };
            };
        };
    };
    admin_stats: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stats"];
                };
            };
        };
    };
    admin_backups: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BackupList"];
                };
            };
        };
    };
    admin_backup: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Backup"];
                };
            };
        };
    };
    profile_verify_email: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sent"];
                };
            };
        };
    };
    email_verification_use: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Verification"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    health_get: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    health_live: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alive"];
                };
            };
        };
    };
    profile_list_identities: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Identities"];
                };
            };
        };
    };
    users_list_identities: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /** @description The id of the object. */
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Identities"];
                };
            };
        };
    };
    profile_disconnect: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                identity: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    users_create_password_link: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /** @description The id of the object. */
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasswordLink"];
                };
            };
        };
    };
    password_link_use: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasswordChoice"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    password_reset_request: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Reset"];
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sent"];
                };
            };
        };
    };
    users_send_password_link: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /** @description The id of the object. */
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sent"];
                };
            };
        };
    };
    policy_rules: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Policy"];
                };
            };
        };
    };
    policy_explain: {
        parameters: {
            query: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description At this time, such as 2026-11-18T22:00: in the zone of the settings unless it has an offset. */
                at?: components["parameters"]["at"];
                /** @description From this address. */
                ip?: components["parameters"]["ip"];
                /** @description With this kind of device. */
                device?: components["parameters"]["device"];
                /** @description By this method, instead of the one that the permission is asked for with. */
                method?: components["parameters"]["method"];
                /** @description By a service token with these scopes, separated by commas. */
                scope?: string[];
                /** @description An e-mail, a user's id, or a role. */
                as: components["parameters"]["as"];
                /** @description The permission, such as user.update. */
                permission: components["parameters"]["permission"];
                /** @description The object. Without it, the answer is about any object. */
                id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explanation"];
                };
            };
        };
    };
    policy_try: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Try"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Trial"];
                };
            };
        };
    };
    policy_apply: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Apply"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Applied"];
                };
            };
        };
    };
    policy_versions: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["schemas"]["VersionField"][];
                /** @description The order of the rows; `-` stands before what descends. Without it: `-applied_at`. */
                sort?: components["schemas"]["VersionSort"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionList"];
                };
            };
        };
    };
    policy_version: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                version: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionWithFiles"];
                };
            };
        };
    };
    policy_matrix: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Only the permissions of these resources, separated by commas. */
                resource?: string[];
                /** @description Only the columns of these roles, separated by commas. */
                role?: string[];
                /** @description Adds the cells of this user, by id or e-mail. They combine the rules about the user with those about the user's role. */
                person?: string;
                /** @description Only users with rules of their own whose name or e-mail contains this text. */
                q?: string;
                /** @description The largest number of users on the page; 0: no users. It has 20 unless given. */
                limit?: number;
                /** @description The number of users to skip. */
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Matrix"];
                };
            };
        };
    };
    policy_explain_past: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /** @description The id of the object. */
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Past"];
                };
            };
        };
    };
    policy_review: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Only rows whose role is exactly this. */
                role?: components["parameters"]["role"];
                /** @description Only rows that are active (`true`), or only rows that are not (`false`). */
                active?: components["parameters"]["active"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReviewedList"];
                };
            };
        };
    };
    policy_unused: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description The number of days to look back. 30 unless given. */
                days?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Unused"];
                };
            };
        };
    };
    policy_visible: {
        parameters: {
            query: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description An e-mail, a user's id, or a role. */
                as: components["parameters"]["as"];
                /** @description The plural name of a collection. */
                collection: string;
                /** @description Ids of rows of the collection, separated by commas. Without them, the answer is only about the user or role. */
                ids?: string[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Visible"];
                };
            };
        };
    };
    policy_who: {
        parameters: {
            query: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description The permission, such as user.update. */
                permission: components["parameters"]["permission"];
                /** @description The object. Without it, the answer lists the users who may do it to some object. */
                id?: string;
                /** @description At this time, such as 2026-11-18T22:00: in the zone of the settings unless it has an offset. */
                at?: components["parameters"]["at"];
                /** @description From this address. */
                ip?: components["parameters"]["ip"];
                /** @description With this kind of device. */
                device?: components["parameters"]["device"];
                /** @description By this method, instead of the one that the permission is asked for with. */
                method?: components["parameters"]["method"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HolderList"];
                };
            };
        };
    };
    profile_export: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
        };
    };
    ping: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alive"];
                };
            };
        };
    };
    openapi: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    openapi_3_0: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    session_verify: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LoginCode"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Token"];
                };
            };
        };
    };
    profile_get_second_factor: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecondFactor"];
                };
            };
        };
    };
    profile_set_up_second_factor: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SecondFactorSetup"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecondFactorSecret"];
                };
            };
        };
    };
    profile_confirm_second_factor: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SecondFactorConfirmation"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoveryCodes"];
                };
            };
        };
    };
    profile_renew_recovery_codes: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SecondFactorChange"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoveryCodes"];
                };
            };
        };
    };
    profile_remove_second_factor: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SecondFactorChange"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    users_remove_second_factor: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /** @description The id of the object. */
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    session_log_in: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Login"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Token"];
                };
            };
        };
    };
    session_refresh: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Refresh"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Token"];
                };
            };
        };
    };
    session_log_out: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Logout"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    session_register: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Register"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Registered"];
                };
            };
        };
    };
    profile_get: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
        };
    };
    profile_update: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": components["schemas"]["ProfileChanges"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
        };
    };
    profile_change_password: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Password"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    profile_end_other_sessions: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    articles_list: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["articles.fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `-created_at`. */
                sort?: components["parameters"]["articles.sort"];
                /** @description Only rows that have all these words in title or body. Words in double quotes must stand beside each other. */
                q?: components["parameters"]["q"];
                /** @description What becomes of rows that only a share opens to the caller: they are listed with the others (`include`, the default), or left out (`exclude`). `only` lists nothing but rows that are shared with the caller. */
                shared?: components["parameters"]["shared"];
                /** @description Only rows whose status is exactly this. */
                status?: components["parameters"]["articles.status"];
                /** @description Only rows whose status is any other than this. */
                status__ne?: components["parameters"]["articles.status__ne"];
                /** @description Only rows whose status is one of these, which are separated by commas; one with a comma stands in double quotes. */
                status__in?: components["parameters"]["articles.status__in"];
                /** @description Only rows whose title is exactly this. */
                title?: components["parameters"]["articles.title"];
                /** @description Only rows whose title contains this text. */
                title__contains?: components["parameters"]["title__contains"];
                /** @description Only rows whose title starts with this text. */
                title__startswith?: components["parameters"]["articles.title__startswith"];
                /** @description Only rows whose slug is exactly this. */
                slug?: components["parameters"]["slug"];
                /** @description Only rows whose slug is one of these, which are separated by commas; one with a comma stands in double quotes. */
                slug__in?: components["parameters"]["slug__in"];
                /** @description Only rows whose language is exactly this. */
                language?: components["parameters"]["language"];
                /** @description Only rows whose language is one of these, which are separated by commas; one with a comma stands in double quotes. */
                language__in?: components["parameters"]["language__in"];
                /** @description Only rows whose category has this id or slug. */
                category?: components["parameters"]["category"];
                /** @description Only rows whose category has this id. */
                category_id?: components["parameters"]["category_id"];
                /** @description Only rows whose category has one of these ids, which are separated by commas. */
                category_id__in?: components["parameters"]["category_id__in"];
                /** @description Only rows without any category (`true`), or only rows that have one (`false`). */
                category_id__isnull?: components["parameters"]["category_id__isnull"];
                /** @description Only rows whose owner has this id. */
                owner_id?: components["parameters"]["owner_id"];
                /** @description Only rows whose owner has one of these ids, which are separated by commas. */
                owner_id__in?: components["parameters"]["owner_id__in"];
                /** @description Only rows created at this time or later. */
                created_at__gte?: components["parameters"]["created_at__gte"];
                /** @description Only rows created before this time. */
                created_at__lt?: components["parameters"]["created_at__lt"];
                /** @description Only rows published at this time or later. */
                published_at__gte?: components["parameters"]["articles.published_at__gte"];
                /** @description Only rows published before this time. */
                published_at__lt?: components["parameters"]["articles.published_at__lt"];
                /** @description Only rows that were never published (`true`), or only rows that were (`false`). */
                published_at__isnull?: components["parameters"]["articles.published_at__isnull"];
                /** @description References to answer as objects beside their ids, separated by commas. */
                expand?: components["parameters"]["articles.expand"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArticleList"];
                };
            };
        };
    };
    articles_create: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewArticle"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Article"];
                };
            };
        };
    };
    articles_get: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["articles.fields"];
                /** @description References to answer as objects beside their ids, separated by commas. */
                expand?: components["parameters"]["articles.expand"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-906c7ff47cd7
                 */
                id: components["parameters"]["articles.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Article"];
                };
            };
        };
    };
    articles_replace: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-906c7ff47cd7
                 */
                id: components["parameters"]["articles.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewArticle"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Article"];
                };
            };
        };
    };
    articles_delete: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-906c7ff47cd7
                 */
                id: components["parameters"]["articles.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    articles_update: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-906c7ff47cd7
                 */
                id: components["parameters"]["articles.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": components["schemas"]["ArticleChanges"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Article"];
                };
            };
        };
    };
    articles_approve: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-906c7ff47cd7
                 */
                id: components["parameters"]["articles.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Article"];
                };
            };
        };
    };
    articles_archive: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-906c7ff47cd7
                 */
                id: components["parameters"]["articles.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Article"];
                };
            };
        };
    };
    articles_publish: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-906c7ff47cd7
                 */
                id: components["parameters"]["articles.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Article"];
                };
            };
        };
    };
    articles_reject: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-906c7ff47cd7
                 */
                id: components["parameters"]["articles.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Article"];
                };
            };
        };
    };
    articles_submit: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-906c7ff47cd7
                 */
                id: components["parameters"]["articles.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Article"];
                };
            };
        };
    };
    articles_export: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["articles.fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `-created_at`. */
                sort?: components["parameters"]["articles.sort"];
                /** @description Only rows that have all these words in title or body. Words in double quotes must stand beside each other. */
                q?: components["parameters"]["q"];
                /** @description What becomes of rows that only a share opens to the caller: they are listed with the others (`include`, the default), or left out (`exclude`). `only` lists nothing but rows that are shared with the caller. */
                shared?: components["parameters"]["shared"];
                /** @description Only rows whose status is exactly this. */
                status?: components["parameters"]["articles.status"];
                /** @description Only rows whose status is any other than this. */
                status__ne?: components["parameters"]["articles.status__ne"];
                /** @description Only rows whose status is one of these, which are separated by commas; one with a comma stands in double quotes. */
                status__in?: components["parameters"]["articles.status__in"];
                /** @description Only rows whose title is exactly this. */
                title?: components["parameters"]["articles.title"];
                /** @description Only rows whose title contains this text. */
                title__contains?: components["parameters"]["title__contains"];
                /** @description Only rows whose title starts with this text. */
                title__startswith?: components["parameters"]["articles.title__startswith"];
                /** @description Only rows whose slug is exactly this. */
                slug?: components["parameters"]["slug"];
                /** @description Only rows whose slug is one of these, which are separated by commas; one with a comma stands in double quotes. */
                slug__in?: components["parameters"]["slug__in"];
                /** @description Only rows whose language is exactly this. */
                language?: components["parameters"]["language"];
                /** @description Only rows whose language is one of these, which are separated by commas; one with a comma stands in double quotes. */
                language__in?: components["parameters"]["language__in"];
                /** @description Only rows whose category has this id or slug. */
                category?: components["parameters"]["category"];
                /** @description Only rows whose category has this id. */
                category_id?: components["parameters"]["category_id"];
                /** @description Only rows whose category has one of these ids, which are separated by commas. */
                category_id__in?: components["parameters"]["category_id__in"];
                /** @description Only rows without any category (`true`), or only rows that have one (`false`). */
                category_id__isnull?: components["parameters"]["category_id__isnull"];
                /** @description Only rows whose owner has this id. */
                owner_id?: components["parameters"]["owner_id"];
                /** @description Only rows whose owner has one of these ids, which are separated by commas. */
                owner_id__in?: components["parameters"]["owner_id__in"];
                /** @description Only rows created at this time or later. */
                created_at__gte?: components["parameters"]["created_at__gte"];
                /** @description Only rows created before this time. */
                created_at__lt?: components["parameters"]["created_at__lt"];
                /** @description Only rows published at this time or later. */
                published_at__gte?: components["parameters"]["articles.published_at__gte"];
                /** @description Only rows published before this time. */
                published_at__lt?: components["parameters"]["articles.published_at__lt"];
                /** @description Only rows that were never published (`true`), or only rows that were (`false`). */
                published_at__isnull?: components["parameters"]["articles.published_at__isnull"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
        };
    };
    articles_import: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description skip: leave out the lines that fail, as long as fewer than a thousand faults are found. Without it, one failing line undoes all. */
                on_error?: components["parameters"]["on_error"];
                /** @description true: report what the import would do, and store nothing. Faulty lines are listed, and do not refuse the file. */
                dry_run?: components["parameters"]["dry_run"];
                /** @description A line updates the row that has this value, if there is one. */
                key?: components["parameters"]["key"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-ndjson": string;
                "text/csv": string;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Imported"];
                };
            };
        };
    };
    articles_shares: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `created_at`. */
                sort?: components["parameters"]["sort"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-906c7ff47cd7
                 */
                id: components["parameters"]["articles.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShareList"];
                };
            };
        };
    };
    articles_share: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-906c7ff47cd7
                 */
                id: components["parameters"]["articles.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewShare"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShareList"];
                };
            };
        };
    };
    articles_unshare: {
        parameters: {
            query: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Use user:<id>, group:<name> or role:<name>. `me` is the caller's own user:<id>, which no permission is needed to give up. */
                grantee: components["parameters"]["grantee"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-906c7ff47cd7
                 */
                id: components["parameters"]["articles.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    audit_list: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["audit.fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `-time`. */
                sort?: components["schemas"]["AuditSort"];
                /** @description Only rows whose principal is exactly this. */
                principal?: string;
                /** @description Only rows whose action is exactly this. */
                action?: string;
                /** @description Only rows whose action is one of these, which are separated by commas; one with a comma stands in double quotes. */
                action__in?: string[];
                /** @description Only rows whose resource is exactly this. */
                resource?: string;
                /** @description Only rows whose resource has this id. */
                resource_id?: string;
                /** @description Only rows whose result is exactly this. */
                result?: components["schemas"]["AuditResult"];
                /** @description Only rows whose result is one of these, which are separated by commas; one with a comma stands in double quotes. */
                result__in?: components["schemas"]["AuditResult"][];
                /** @description Only rows whose time is this time or later. */
                time__gte?: string;
                /** @description Only rows whose time is before this time. */
                time__lt?: string;
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditList"];
                };
            };
        };
    };
    audit_get: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["audit.fields"];
            };
            header?: never;
            path: {
                /** @description The id of the object. */
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Audit"];
                };
            };
        };
    };
    audit_seal: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /** @description The id of the object. */
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Seal"];
                };
            };
        };
    };
    categories_list: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["categories.fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `name`. */
                sort?: components["parameters"]["categories.sort"];
                /** @description What becomes of rows that only a share opens to the caller: they are listed with the others (`include`, the default), or left out (`exclude`). `only` lists nothing but rows that are shared with the caller. */
                shared?: components["parameters"]["shared"];
                /** @description Only rows whose slug is exactly this. */
                slug?: components["parameters"]["slug"];
                /** @description Only rows whose slug is one of these, which are separated by commas; one with a comma stands in double quotes. */
                slug__in?: components["parameters"]["slug__in"];
                /** @description Only rows whose name is exactly this. */
                name?: components["parameters"]["name"];
                /** @description Only rows whose name contains this text. */
                name__contains?: components["parameters"]["name__contains"];
                /** @description Only rows whose name starts with this text. */
                name__startswith?: components["parameters"]["name__startswith"];
                /** @description Only rows whose parent has this id. */
                parent_id?: components["parameters"]["categories.parent_id"];
                /** @description Only rows without any parent (`true`), or only rows that have one (`false`). */
                parent_id__isnull?: components["parameters"]["categories.parent_id__isnull"];
                /** @description References to answer as objects beside their ids, separated by commas. */
                expand?: components["parameters"]["categories.expand"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CategoryList"];
                };
            };
        };
    };
    categories_create: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewCategory"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Category"];
                };
            };
        };
    };
    categories_get: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["categories.fields"];
                /** @description References to answer as objects beside their ids, separated by commas. */
                expand?: components["parameters"]["categories.expand"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-a6216ea03e57
                 */
                id: components["parameters"]["categories.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Category"];
                };
            };
        };
    };
    categories_replace: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-a6216ea03e57
                 */
                id: components["parameters"]["categories.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewCategory"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Category"];
                };
            };
        };
    };
    categories_delete: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-a6216ea03e57
                 */
                id: components["parameters"]["categories.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    categories_update: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-a6216ea03e57
                 */
                id: components["parameters"]["categories.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": components["schemas"]["CategoryChanges"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Category"];
                };
            };
        };
    };
    categories_export: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["categories.fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `name`. */
                sort?: components["parameters"]["categories.sort"];
                /** @description What becomes of rows that only a share opens to the caller: they are listed with the others (`include`, the default), or left out (`exclude`). `only` lists nothing but rows that are shared with the caller. */
                shared?: components["parameters"]["shared"];
                /** @description Only rows whose slug is exactly this. */
                slug?: components["parameters"]["slug"];
                /** @description Only rows whose slug is one of these, which are separated by commas; one with a comma stands in double quotes. */
                slug__in?: components["parameters"]["slug__in"];
                /** @description Only rows whose name is exactly this. */
                name?: components["parameters"]["name"];
                /** @description Only rows whose name contains this text. */
                name__contains?: components["parameters"]["name__contains"];
                /** @description Only rows whose name starts with this text. */
                name__startswith?: components["parameters"]["name__startswith"];
                /** @description Only rows whose parent has this id. */
                parent_id?: components["parameters"]["categories.parent_id"];
                /** @description Only rows without any parent (`true`), or only rows that have one (`false`). */
                parent_id__isnull?: components["parameters"]["categories.parent_id__isnull"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
        };
    };
    categories_import: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description skip: leave out the lines that fail, as long as fewer than a thousand faults are found. Without it, one failing line undoes all. */
                on_error?: components["parameters"]["on_error"];
                /** @description true: report what the import would do, and store nothing. Faulty lines are listed, and do not refuse the file. */
                dry_run?: components["parameters"]["dry_run"];
                /** @description A line updates the row that has this value, if there is one. */
                key?: components["parameters"]["key"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-ndjson": string;
                "text/csv": string;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Imported"];
                };
            };
        };
    };
    categories_shares: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `created_at`. */
                sort?: components["parameters"]["sort"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-a6216ea03e57
                 */
                id: components["parameters"]["categories.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShareList"];
                };
            };
        };
    };
    categories_share: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-a6216ea03e57
                 */
                id: components["parameters"]["categories.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewShare"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShareList"];
                };
            };
        };
    };
    categories_unshare: {
        parameters: {
            query: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Use user:<id>, group:<name> or role:<name>. `me` is the caller's own user:<id>, which no permission is needed to give up. */
                grantee: components["parameters"]["grantee"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-a6216ea03e57
                 */
                id: components["parameters"]["categories.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    comments_list: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["comments.fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `-created_at`. */
                sort?: components["parameters"]["comments.sort"];
                /** @description Only rows that have all these words in body. Words in double quotes must stand beside each other. */
                q?: components["parameters"]["comments.q"];
                /** @description What becomes of rows that only a share opens to the caller: they are listed with the others (`include`, the default), or left out (`exclude`). `only` lists nothing but rows that are shared with the caller. */
                shared?: components["parameters"]["shared"];
                /** @description Only rows whose status is exactly this. */
                status?: components["parameters"]["comments.status"];
                /** @description Only rows whose status is any other than this. */
                status__ne?: components["parameters"]["comments.status__ne"];
                /** @description Only rows whose status is one of these, which are separated by commas; one with a comma stands in double quotes. */
                status__in?: components["parameters"]["comments.status__in"];
                /** @description Only rows whose article has this id. */
                article_id?: components["parameters"]["comments.article_id"];
                /** @description Only rows whose article has one of these ids, which are separated by commas. */
                article_id__in?: components["parameters"]["comments.article_id__in"];
                /** @description Only rows whose owner has this id. */
                owner_id?: components["parameters"]["owner_id"];
                /** @description Only rows whose owner has one of these ids, which are separated by commas. */
                owner_id__in?: components["parameters"]["owner_id__in"];
                /** @description Only rows whose body contains this text. */
                body__contains?: components["parameters"]["body__contains"];
                /** @description Only rows created at this time or later. */
                created_at__gte?: components["parameters"]["created_at__gte"];
                /** @description Only rows created before this time. */
                created_at__lt?: components["parameters"]["created_at__lt"];
                /** @description References to answer as objects beside their ids, separated by commas. */
                expand?: components["parameters"]["comments.expand"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommentList"];
                };
            };
        };
    };
    comments_create: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewComment"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comment"];
                };
            };
        };
    };
    comments_get: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["comments.fields"];
                /** @description References to answer as objects beside their ids, separated by commas. */
                expand?: components["parameters"]["comments.expand"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-2b4244fb2663
                 */
                id: components["parameters"]["comments.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comment"];
                };
            };
        };
    };
    comments_replace: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-2b4244fb2663
                 */
                id: components["parameters"]["comments.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CommentReplacement"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comment"];
                };
            };
        };
    };
    comments_delete: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-2b4244fb2663
                 */
                id: components["parameters"]["comments.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    comments_update: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-2b4244fb2663
                 */
                id: components["parameters"]["comments.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": components["schemas"]["CommentChanges"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comment"];
                };
            };
        };
    };
    comments_approve: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-2b4244fb2663
                 */
                id: components["parameters"]["comments.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comment"];
                };
            };
        };
    };
    comments_reject: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-2b4244fb2663
                 */
                id: components["parameters"]["comments.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comment"];
                };
            };
        };
    };
    comments_export: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["comments.fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `-created_at`. */
                sort?: components["parameters"]["comments.sort"];
                /** @description Only rows that have all these words in body. Words in double quotes must stand beside each other. */
                q?: components["parameters"]["comments.q"];
                /** @description What becomes of rows that only a share opens to the caller: they are listed with the others (`include`, the default), or left out (`exclude`). `only` lists nothing but rows that are shared with the caller. */
                shared?: components["parameters"]["shared"];
                /** @description Only rows whose status is exactly this. */
                status?: components["parameters"]["comments.status"];
                /** @description Only rows whose status is any other than this. */
                status__ne?: components["parameters"]["comments.status__ne"];
                /** @description Only rows whose status is one of these, which are separated by commas; one with a comma stands in double quotes. */
                status__in?: components["parameters"]["comments.status__in"];
                /** @description Only rows whose article has this id. */
                article_id?: components["parameters"]["comments.article_id"];
                /** @description Only rows whose article has one of these ids, which are separated by commas. */
                article_id__in?: components["parameters"]["comments.article_id__in"];
                /** @description Only rows whose owner has this id. */
                owner_id?: components["parameters"]["owner_id"];
                /** @description Only rows whose owner has one of these ids, which are separated by commas. */
                owner_id__in?: components["parameters"]["owner_id__in"];
                /** @description Only rows whose body contains this text. */
                body__contains?: components["parameters"]["body__contains"];
                /** @description Only rows created at this time or later. */
                created_at__gte?: components["parameters"]["created_at__gte"];
                /** @description Only rows created before this time. */
                created_at__lt?: components["parameters"]["created_at__lt"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
        };
    };
    comments_import: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description skip: leave out the lines that fail, as long as fewer than a thousand faults are found. Without it, one failing line undoes all. */
                on_error?: components["parameters"]["on_error"];
                /** @description true: report what the import would do, and store nothing. Faulty lines are listed, and do not refuse the file. */
                dry_run?: components["parameters"]["dry_run"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-ndjson": string;
                "text/csv": string;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Imported"];
                };
            };
        };
    };
    comments_shares: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `created_at`. */
                sort?: components["parameters"]["sort"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-2b4244fb2663
                 */
                id: components["parameters"]["comments.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShareList"];
                };
            };
        };
    };
    comments_share: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-2b4244fb2663
                 */
                id: components["parameters"]["comments.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewShare"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShareList"];
                };
            };
        };
    };
    comments_unshare: {
        parameters: {
            query: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Use user:<id>, group:<name> or role:<name>. `me` is the caller's own user:<id>, which no permission is needed to give up. */
                grantee: components["parameters"]["grantee"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-2b4244fb2663
                 */
                id: components["parameters"]["comments.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    contact_list: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["contact.fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `-created_at`. */
                sort?: components["schemas"]["ContactSort"];
                /** @description Only rows whose name contains this text. */
                name__contains?: components["parameters"]["name__contains"];
                /** @description Only rows whose email is exactly this. */
                email?: components["parameters"]["email"];
                /** @description Only rows whose subject contains this text. */
                subject__contains?: string;
                /** @description Only rows whose body contains this text. */
                body__contains?: components["parameters"]["body__contains"];
                /** @description Only rows created at this time or later. */
                created_at__gte?: components["parameters"]["created_at__gte"];
                /** @description Only rows created before this time. */
                created_at__lt?: components["parameters"]["created_at__lt"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContactList"];
                };
            };
        };
    };
    contact_create: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewContact"];
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
        };
    };
    contact_get: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["contact.fields"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-093e7d5fdbaa
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Contact"];
                };
            };
        };
    };
    contact_delete: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-093e7d5fdbaa
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    jobs_list: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["jobs.fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `-created_at`. */
                sort?: components["schemas"]["JobSort"];
                /** @description Only rows whose state is exactly this. */
                state?: components["schemas"]["JobState"];
                /** @description Only rows whose kind is exactly this. */
                kind?: string;
                /** @description Only rows whose owner has this id. */
                owner_id?: components["parameters"]["owner_id"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobList"];
                };
            };
        };
    };
    jobs_get: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["jobs.fields"];
            };
            header?: never;
            path: {
                /** @description The id of the object. */
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    jobs_delete: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /** @description The id of the object. */
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    jobs_retry: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /** @description The id of the object. */
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    jobs_file: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /** @description The id of the object. */
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
        };
    };
    orders_list: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["orders.fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `-created_at`. */
                sort?: components["parameters"]["orders.sort"];
                /** @description What becomes of rows that only a share opens to the caller: they are listed with the others (`include`, the default), or left out (`exclude`). `only` lists nothing but rows that are shared with the caller. */
                shared?: components["parameters"]["shared"];
                /** @description Only rows whose status is exactly this. */
                status?: components["parameters"]["orders.status"];
                /** @description Only rows whose status is any other than this. */
                status__ne?: components["parameters"]["orders.status__ne"];
                /** @description Only rows whose status is one of these, which are separated by commas; one with a comma stands in double quotes. */
                status__in?: components["parameters"]["orders.status__in"];
                /** @description Only rows whose total is exactly this. */
                total?: components["parameters"]["orders.total"];
                /** @description Only rows whose total is less than this. */
                total__lt?: components["parameters"]["orders.total__lt"];
                /** @description Only rows whose total is at most this. */
                total__lte?: components["parameters"]["orders.total__lte"];
                /** @description Only rows whose total is more than this. */
                total__gt?: components["parameters"]["orders.total__gt"];
                /** @description Only rows whose total is at least this. */
                total__gte?: components["parameters"]["orders.total__gte"];
                /** @description Only rows whose currency is exactly this. */
                currency?: components["parameters"]["currency"];
                /** @description Only rows whose owner has this id. */
                owner_id?: components["parameters"]["owner_id"];
                /** @description Only rows whose owner has one of these ids, which are separated by commas. */
                owner_id__in?: components["parameters"]["owner_id__in"];
                /** @description Only rows created at this time or later. */
                created_at__gte?: components["parameters"]["created_at__gte"];
                /** @description Only rows created before this time. */
                created_at__lt?: components["parameters"]["created_at__lt"];
                /** @description References to answer as objects beside their ids, separated by commas. */
                expand?: components["parameters"]["orders.expand"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OrderList"];
                };
            };
        };
    };
    orders_create: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewOrder"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
        };
    };
    orders_get: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["orders.fields"];
                /** @description References to answer as objects beside their ids, separated by commas. */
                expand?: components["parameters"]["orders.expand"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-1c168adb00d2
                 */
                id: components["parameters"]["orders.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
        };
    };
    orders_replace: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-1c168adb00d2
                 */
                id: components["parameters"]["orders.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OrderReplacement"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
        };
    };
    orders_delete: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-1c168adb00d2
                 */
                id: components["parameters"]["orders.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    orders_update: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-1c168adb00d2
                 */
                id: components["parameters"]["orders.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": components["schemas"]["OrderChanges"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
        };
    };
    orders_approve: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-1c168adb00d2
                 */
                id: components["parameters"]["orders.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
        };
    };
    orders_cancel: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-1c168adb00d2
                 */
                id: components["parameters"]["orders.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
        };
    };
    orders_complete: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-1c168adb00d2
                 */
                id: components["parameters"]["orders.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
        };
    };
    orders_refund: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-1c168adb00d2
                 */
                id: components["parameters"]["orders.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
        };
    };
    orders_reject: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-1c168adb00d2
                 */
                id: components["parameters"]["orders.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
        };
    };
    orders_ship: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-1c168adb00d2
                 */
                id: components["parameters"]["orders.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
        };
    };
    orders_export: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["orders.fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `-created_at`. */
                sort?: components["parameters"]["orders.sort"];
                /** @description What becomes of rows that only a share opens to the caller: they are listed with the others (`include`, the default), or left out (`exclude`). `only` lists nothing but rows that are shared with the caller. */
                shared?: components["parameters"]["shared"];
                /** @description Only rows whose status is exactly this. */
                status?: components["parameters"]["orders.status"];
                /** @description Only rows whose status is any other than this. */
                status__ne?: components["parameters"]["orders.status__ne"];
                /** @description Only rows whose status is one of these, which are separated by commas; one with a comma stands in double quotes. */
                status__in?: components["parameters"]["orders.status__in"];
                /** @description Only rows whose total is exactly this. */
                total?: components["parameters"]["orders.total"];
                /** @description Only rows whose total is less than this. */
                total__lt?: components["parameters"]["orders.total__lt"];
                /** @description Only rows whose total is at most this. */
                total__lte?: components["parameters"]["orders.total__lte"];
                /** @description Only rows whose total is more than this. */
                total__gt?: components["parameters"]["orders.total__gt"];
                /** @description Only rows whose total is at least this. */
                total__gte?: components["parameters"]["orders.total__gte"];
                /** @description Only rows whose currency is exactly this. */
                currency?: components["parameters"]["currency"];
                /** @description Only rows whose owner has this id. */
                owner_id?: components["parameters"]["owner_id"];
                /** @description Only rows whose owner has one of these ids, which are separated by commas. */
                owner_id__in?: components["parameters"]["owner_id__in"];
                /** @description Only rows created at this time or later. */
                created_at__gte?: components["parameters"]["created_at__gte"];
                /** @description Only rows created before this time. */
                created_at__lt?: components["parameters"]["created_at__lt"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
        };
    };
    orders_shares: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `created_at`. */
                sort?: components["parameters"]["sort"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-1c168adb00d2
                 */
                id: components["parameters"]["orders.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShareList"];
                };
            };
        };
    };
    orders_share: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-1c168adb00d2
                 */
                id: components["parameters"]["orders.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewShare"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShareList"];
                };
            };
        };
    };
    orders_unshare: {
        parameters: {
            query: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Use user:<id>, group:<name> or role:<name>. `me` is the caller's own user:<id>, which no permission is needed to give up. */
                grantee: components["parameters"]["grantee"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-1c168adb00d2
                 */
                id: components["parameters"]["orders.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    pages_list: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["pages.fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `slug`. */
                sort?: components["parameters"]["pages.sort"];
                /** @description Only rows that have all these words in title or body. Words in double quotes must stand beside each other. */
                q?: components["parameters"]["q"];
                /** @description What becomes of rows that only a share opens to the caller: they are listed with the others (`include`, the default), or left out (`exclude`). `only` lists nothing but rows that are shared with the caller. */
                shared?: components["parameters"]["shared"];
                /** @description Only rows whose status is exactly this. */
                status?: components["parameters"]["pages.status"];
                /** @description Only rows whose status is one of these, which are separated by commas; one with a comma stands in double quotes. */
                status__in?: components["parameters"]["pages.status__in"];
                /** @description Only rows whose slug is exactly this. */
                slug?: components["parameters"]["slug"];
                /** @description Only rows whose slug is one of these, which are separated by commas; one with a comma stands in double quotes. */
                slug__in?: components["parameters"]["slug__in"];
                /** @description Only rows whose language is exactly this. */
                language?: components["parameters"]["language"];
                /** @description Only rows whose language is one of these, which are separated by commas; one with a comma stands in double quotes. */
                language__in?: components["parameters"]["language__in"];
                /** @description Only rows whose title contains this text. */
                title__contains?: components["parameters"]["title__contains"];
                /** @description References to answer as objects beside their ids, separated by commas. */
                expand?: components["parameters"]["pages.expand"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageList"];
                };
            };
        };
    };
    pages_create: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPage"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page"];
                };
            };
        };
    };
    pages_get: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["pages.fields"];
                /** @description References to answer as objects beside their ids, separated by commas. */
                expand?: components["parameters"]["pages.expand"];
            };
            header?: never;
            path: {
                /**
                 * @description The id or the slug of the object.
                 * @example imprint
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageText"];
                };
            };
        };
    };
    pages_replace: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-bfa062de040f
                 */
                id: components["parameters"]["pages.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPage"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page"];
                };
            };
        };
    };
    pages_delete: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-bfa062de040f
                 */
                id: components["parameters"]["pages.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    pages_update: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-bfa062de040f
                 */
                id: components["parameters"]["pages.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": components["schemas"]["PageChanges"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page"];
                };
            };
        };
    };
    pages_archive: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-bfa062de040f
                 */
                id: components["parameters"]["pages.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page"];
                };
            };
        };
    };
    pages_publish: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-bfa062de040f
                 */
                id: components["parameters"]["pages.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Page"];
                };
            };
        };
    };
    pages_export: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["pages.fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `slug`. */
                sort?: components["parameters"]["pages.sort"];
                /** @description Only rows that have all these words in title or body. Words in double quotes must stand beside each other. */
                q?: components["parameters"]["q"];
                /** @description What becomes of rows that only a share opens to the caller: they are listed with the others (`include`, the default), or left out (`exclude`). `only` lists nothing but rows that are shared with the caller. */
                shared?: components["parameters"]["shared"];
                /** @description Only rows whose status is exactly this. */
                status?: components["parameters"]["pages.status"];
                /** @description Only rows whose status is one of these, which are separated by commas; one with a comma stands in double quotes. */
                status__in?: components["parameters"]["pages.status__in"];
                /** @description Only rows whose slug is exactly this. */
                slug?: components["parameters"]["slug"];
                /** @description Only rows whose slug is one of these, which are separated by commas; one with a comma stands in double quotes. */
                slug__in?: components["parameters"]["slug__in"];
                /** @description Only rows whose language is exactly this. */
                language?: components["parameters"]["language"];
                /** @description Only rows whose language is one of these, which are separated by commas; one with a comma stands in double quotes. */
                language__in?: components["parameters"]["language__in"];
                /** @description Only rows whose title contains this text. */
                title__contains?: components["parameters"]["title__contains"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
        };
    };
    pages_import: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description skip: leave out the lines that fail, as long as fewer than a thousand faults are found. Without it, one failing line undoes all. */
                on_error?: components["parameters"]["on_error"];
                /** @description true: report what the import would do, and store nothing. Faulty lines are listed, and do not refuse the file. */
                dry_run?: components["parameters"]["dry_run"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-ndjson": string;
                "text/csv": string;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Imported"];
                };
            };
        };
    };
    pages_shares: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `created_at`. */
                sort?: components["parameters"]["sort"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-bfa062de040f
                 */
                id: components["parameters"]["pages.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShareList"];
                };
            };
        };
    };
    pages_share: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-bfa062de040f
                 */
                id: components["parameters"]["pages.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewShare"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShareList"];
                };
            };
        };
    };
    pages_unshare: {
        parameters: {
            query: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Use user:<id>, group:<name> or role:<name>. `me` is the caller's own user:<id>, which no permission is needed to give up. */
                grantee: components["parameters"]["grantee"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-bfa062de040f
                 */
                id: components["parameters"]["pages.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    products_list: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["products.fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `-created_at`. */
                sort?: components["parameters"]["products.sort"];
                /** @description Only rows that have all these words in name or description. Words in double quotes must stand beside each other. */
                q?: components["parameters"]["products.q"];
                /** @description What becomes of rows that only a share opens to the caller: they are listed with the others (`include`, the default), or left out (`exclude`). `only` lists nothing but rows that are shared with the caller. */
                shared?: components["parameters"]["shared"];
                /** @description Only rows whose status is exactly this. */
                status?: components["parameters"]["products.status"];
                /** @description Only rows whose status is any other than this. */
                status__ne?: components["parameters"]["products.status__ne"];
                /** @description Only rows whose status is one of these, which are separated by commas; one with a comma stands in double quotes. */
                status__in?: components["parameters"]["products.status__in"];
                /** @description Only rows whose name is exactly this. */
                name?: components["parameters"]["name"];
                /** @description Only rows whose name contains this text. */
                name__contains?: components["parameters"]["name__contains"];
                /** @description Only rows whose name starts with this text. */
                name__startswith?: components["parameters"]["name__startswith"];
                /** @description Only rows whose sku is exactly this. */
                sku?: components["parameters"]["products.sku"];
                /** @description Only rows whose sku is one of these, which are separated by commas; one with a comma stands in double quotes. */
                sku__in?: components["parameters"]["products.sku__in"];
                /** @description Only rows whose price is exactly this. */
                price?: components["parameters"]["products.price"];
                /** @description Only rows whose price is less than this. */
                price__lt?: components["parameters"]["products.price__lt"];
                /** @description Only rows whose price is at most this. */
                price__lte?: components["parameters"]["products.price__lte"];
                /** @description Only rows whose price is more than this. */
                price__gt?: components["parameters"]["products.price__gt"];
                /** @description Only rows whose price is at least this. */
                price__gte?: components["parameters"]["products.price__gte"];
                /** @description Only rows whose currency is exactly this. */
                currency?: components["parameters"]["currency"];
                /** @description Only rows whose stock is exactly this. */
                stock?: components["parameters"]["products.stock"];
                /** @description Only rows whose stock is less than this. */
                stock__lt?: components["parameters"]["products.stock__lt"];
                /** @description Only rows whose stock is at least this. */
                stock__gte?: components["parameters"]["products.stock__gte"];
                /** @description Only rows whose category has this id or slug. */
                category?: components["parameters"]["category"];
                /** @description Only rows whose category has this id. */
                category_id?: components["parameters"]["category_id"];
                /** @description Only rows whose category has one of these ids, which are separated by commas. */
                category_id__in?: components["parameters"]["category_id__in"];
                /** @description Only rows without any category (`true`), or only rows that have one (`false`). */
                category_id__isnull?: components["parameters"]["category_id__isnull"];
                /** @description Only rows whose owner has this id. */
                owner_id?: components["parameters"]["owner_id"];
                /** @description Only rows whose owner has one of these ids, which are separated by commas. */
                owner_id__in?: components["parameters"]["owner_id__in"];
                /** @description Only rows created at this time or later. */
                created_at__gte?: components["parameters"]["created_at__gte"];
                /** @description Only rows created before this time. */
                created_at__lt?: components["parameters"]["created_at__lt"];
                /** @description References to answer as objects beside their ids, separated by commas. */
                expand?: components["parameters"]["products.expand"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProductList"];
                };
            };
        };
    };
    products_create: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewProduct"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Product"];
                };
            };
        };
    };
    products_get: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["products.fields"];
                /** @description References to answer as objects beside their ids, separated by commas. */
                expand?: components["parameters"]["products.expand"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-0a3e27b8ca81
                 */
                id: components["parameters"]["products.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Product"];
                };
            };
        };
    };
    products_replace: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-0a3e27b8ca81
                 */
                id: components["parameters"]["products.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewProduct"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Product"];
                };
            };
        };
    };
    products_delete: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-0a3e27b8ca81
                 */
                id: components["parameters"]["products.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    products_update: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-0a3e27b8ca81
                 */
                id: components["parameters"]["products.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": components["schemas"]["ProductChanges"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Product"];
                };
            };
        };
    };
    products_archive: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-0a3e27b8ca81
                 */
                id: components["parameters"]["products.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Product"];
                };
            };
        };
    };
    products_publish: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-0a3e27b8ca81
                 */
                id: components["parameters"]["products.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Product"];
                };
            };
        };
    };
    products_export: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["products.fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `-created_at`. */
                sort?: components["parameters"]["products.sort"];
                /** @description Only rows that have all these words in name or description. Words in double quotes must stand beside each other. */
                q?: components["parameters"]["products.q"];
                /** @description What becomes of rows that only a share opens to the caller: they are listed with the others (`include`, the default), or left out (`exclude`). `only` lists nothing but rows that are shared with the caller. */
                shared?: components["parameters"]["shared"];
                /** @description Only rows whose status is exactly this. */
                status?: components["parameters"]["products.status"];
                /** @description Only rows whose status is any other than this. */
                status__ne?: components["parameters"]["products.status__ne"];
                /** @description Only rows whose status is one of these, which are separated by commas; one with a comma stands in double quotes. */
                status__in?: components["parameters"]["products.status__in"];
                /** @description Only rows whose name is exactly this. */
                name?: components["parameters"]["name"];
                /** @description Only rows whose name contains this text. */
                name__contains?: components["parameters"]["name__contains"];
                /** @description Only rows whose name starts with this text. */
                name__startswith?: components["parameters"]["name__startswith"];
                /** @description Only rows whose sku is exactly this. */
                sku?: components["parameters"]["products.sku"];
                /** @description Only rows whose sku is one of these, which are separated by commas; one with a comma stands in double quotes. */
                sku__in?: components["parameters"]["products.sku__in"];
                /** @description Only rows whose price is exactly this. */
                price?: components["parameters"]["products.price"];
                /** @description Only rows whose price is less than this. */
                price__lt?: components["parameters"]["products.price__lt"];
                /** @description Only rows whose price is at most this. */
                price__lte?: components["parameters"]["products.price__lte"];
                /** @description Only rows whose price is more than this. */
                price__gt?: components["parameters"]["products.price__gt"];
                /** @description Only rows whose price is at least this. */
                price__gte?: components["parameters"]["products.price__gte"];
                /** @description Only rows whose currency is exactly this. */
                currency?: components["parameters"]["currency"];
                /** @description Only rows whose stock is exactly this. */
                stock?: components["parameters"]["products.stock"];
                /** @description Only rows whose stock is less than this. */
                stock__lt?: components["parameters"]["products.stock__lt"];
                /** @description Only rows whose stock is at least this. */
                stock__gte?: components["parameters"]["products.stock__gte"];
                /** @description Only rows whose category has this id or slug. */
                category?: components["parameters"]["category"];
                /** @description Only rows whose category has this id. */
                category_id?: components["parameters"]["category_id"];
                /** @description Only rows whose category has one of these ids, which are separated by commas. */
                category_id__in?: components["parameters"]["category_id__in"];
                /** @description Only rows without any category (`true`), or only rows that have one (`false`). */
                category_id__isnull?: components["parameters"]["category_id__isnull"];
                /** @description Only rows whose owner has this id. */
                owner_id?: components["parameters"]["owner_id"];
                /** @description Only rows whose owner has one of these ids, which are separated by commas. */
                owner_id__in?: components["parameters"]["owner_id__in"];
                /** @description Only rows created at this time or later. */
                created_at__gte?: components["parameters"]["created_at__gte"];
                /** @description Only rows created before this time. */
                created_at__lt?: components["parameters"]["created_at__lt"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
        };
    };
    products_import: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description skip: leave out the lines that fail, as long as fewer than a thousand faults are found. Without it, one failing line undoes all. */
                on_error?: components["parameters"]["on_error"];
                /** @description true: report what the import would do, and store nothing. Faulty lines are listed, and do not refuse the file. */
                dry_run?: components["parameters"]["dry_run"];
                /** @description A line updates the row that has this value, if there is one. */
                key?: "sku";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-ndjson": string;
                "text/csv": string;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Imported"];
                };
            };
        };
    };
    products_shares: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `created_at`. */
                sort?: components["parameters"]["sort"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-0a3e27b8ca81
                 */
                id: components["parameters"]["products.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShareList"];
                };
            };
        };
    };
    products_share: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-0a3e27b8ca81
                 */
                id: components["parameters"]["products.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewShare"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShareList"];
                };
            };
        };
    };
    products_unshare: {
        parameters: {
            query: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Use user:<id>, group:<name> or role:<name>. `me` is the caller's own user:<id>, which no permission is needed to give up. */
                grantee: components["parameters"]["grantee"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-0a3e27b8ca81
                 */
                id: components["parameters"]["products.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    sessions_list: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["schemas"]["SessionField"][];
                /** @description The order of the rows; `-` stands before what descends. Without it: `-created_at`. */
                sort?: components["schemas"]["SessionSort"];
                /** @description Only rows whose owner has this id. */
                owner_id?: components["parameters"]["owner_id"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionList"];
                };
            };
        };
    };
    sessions_delete: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /** @description The id of the object. */
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    tokens_list: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["schemas"]["ServiceTokenField"][];
                /** @description The order of the rows; `-` stands before what descends. Without it: `-created_at`. */
                sort?: components["schemas"]["ServiceTokenSort"];
                /** @description Only rows whose owner has this id. */
                owner_id?: components["parameters"]["owner_id"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceTokenList"];
                };
            };
        };
    };
    tokens_create: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewServiceToken"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceToken"];
                };
            };
        };
    };
    tokens_delete: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /** @description The id of the object. */
                id: components["parameters"]["id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    users_list: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["users.fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `name`. */
                sort?: components["parameters"]["users.sort"];
                /** @description What becomes of rows that only a share opens to the caller: they are listed with the others (`include`, the default), or left out (`exclude`). `only` lists nothing but rows that are shared with the caller. */
                shared?: components["parameters"]["shared"];
                /** @description Only rows whose role is exactly this. */
                role?: components["parameters"]["role"];
                /** @description Only rows whose role is one of these, which are separated by commas; one with a comma stands in double quotes. */
                role__in?: components["parameters"]["users.role__in"];
                /** @description Only rows whose name is exactly this. */
                name?: components["parameters"]["name"];
                /** @description Only rows whose name contains this text. */
                name__contains?: components["parameters"]["name__contains"];
                /** @description Only rows whose name starts with this text. */
                name__startswith?: components["parameters"]["name__startswith"];
                /** @description Only rows whose email is exactly this. */
                email?: components["parameters"]["email"];
                /** @description Only rows whose email starts with this text. */
                email__startswith?: components["parameters"]["users.email__startswith"];
                /** @description Only rows that were never email verified (`true`), or only rows that were (`false`). */
                email_verified_at__isnull?: components["parameters"]["users.email_verified_at__isnull"];
                /** @description Only rows whose department is exactly this. */
                department?: components["parameters"]["users.department"];
                /** @description Only rows without any department (`true`), or only rows that have one (`false`). */
                department__isnull?: components["parameters"]["users.department__isnull"];
                /** @description Only rows that have this among their groups. */
                groups__has?: components["parameters"]["users.groups__has"];
                /** @description Only rows that are active (`true`), or only rows that are not (`false`). */
                active?: components["parameters"]["active"];
                /** @description Only rows created at this time or later. */
                created_at__gte?: components["parameters"]["created_at__gte"];
                /** @description Only rows created before this time. */
                created_at__lt?: components["parameters"]["created_at__lt"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserList"];
                };
            };
        };
    };
    users_create: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewUser"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    users_get: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["users.fields"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-7dfb4cf67742
                 */
                id: components["parameters"]["users.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    users_replace: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-7dfb4cf67742
                 */
                id: components["parameters"]["users.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserReplacement"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    users_delete: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-7dfb4cf67742
                 */
                id: components["parameters"]["users.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    users_update: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-7dfb4cf67742
                 */
                id: components["parameters"]["users.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/merge-patch+json": components["schemas"]["UserChanges"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    users_disable: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-7dfb4cf67742
                 */
                id: components["parameters"]["users.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    users_enable: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-7dfb4cf67742
                 */
                id: components["parameters"]["users.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    users_export: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["users.fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `name`. */
                sort?: components["parameters"]["users.sort"];
                /** @description What becomes of rows that only a share opens to the caller: they are listed with the others (`include`, the default), or left out (`exclude`). `only` lists nothing but rows that are shared with the caller. */
                shared?: components["parameters"]["shared"];
                /** @description Only rows whose role is exactly this. */
                role?: components["parameters"]["role"];
                /** @description Only rows whose role is one of these, which are separated by commas; one with a comma stands in double quotes. */
                role__in?: components["parameters"]["users.role__in"];
                /** @description Only rows whose name is exactly this. */
                name?: components["parameters"]["name"];
                /** @description Only rows whose name contains this text. */
                name__contains?: components["parameters"]["name__contains"];
                /** @description Only rows whose name starts with this text. */
                name__startswith?: components["parameters"]["name__startswith"];
                /** @description Only rows whose email is exactly this. */
                email?: components["parameters"]["email"];
                /** @description Only rows whose email starts with this text. */
                email__startswith?: components["parameters"]["users.email__startswith"];
                /** @description Only rows that were never email verified (`true`), or only rows that were (`false`). */
                email_verified_at__isnull?: components["parameters"]["users.email_verified_at__isnull"];
                /** @description Only rows whose department is exactly this. */
                department?: components["parameters"]["users.department"];
                /** @description Only rows without any department (`true`), or only rows that have one (`false`). */
                department__isnull?: components["parameters"]["users.department__isnull"];
                /** @description Only rows that have this among their groups. */
                groups__has?: components["parameters"]["users.groups__has"];
                /** @description Only rows that are active (`true`), or only rows that are not (`false`). */
                active?: components["parameters"]["active"];
                /** @description Only rows created at this time or later. */
                created_at__gte?: components["parameters"]["created_at__gte"];
                /** @description Only rows created before this time. */
                created_at__lt?: components["parameters"]["created_at__lt"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
        };
    };
    users_import: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description skip: leave out the lines that fail, as long as fewer than a thousand faults are found. Without it, one failing line undoes all. */
                on_error?: components["parameters"]["on_error"];
                /** @description true: report what the import would do, and store nothing. Faulty lines are listed, and do not refuse the file. */
                dry_run?: components["parameters"]["dry_run"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-ndjson": string;
                "text/csv": string;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Imported"];
                };
            };
        };
    };
    users_shares: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Fields to answer, separated by commas, and no others; without it, all of them. */
                fields?: components["parameters"]["fields"];
                /** @description The order of the rows; `-` stands before what descends. Without it: `created_at`. */
                sort?: components["parameters"]["sort"];
                /** @description How many rows a page has at most. It has 20 unless given. */
                limit?: components["parameters"]["limit"];
                /** @description Another name of `limit`. */
                page_size?: components["parameters"]["page_size"];
                /** @description As `limit`, of pages that go forward: with `after`. */
                first?: components["parameters"]["first"];
                /** @description As `limit`, of pages that go back: with `before`, which it needs. */
                last?: components["parameters"]["last"];
                /** @description Another name of `after`. */
                cursor?: components["parameters"]["cursor"];
                /** @description A cursor that an earlier answer had: the page begins behind its row. */
                after?: components["parameters"]["after"];
                /** @description A cursor that an earlier answer had: the page ends before its row. */
                before?: components["parameters"]["before"];
                /** @description The number of the page, from 1; instead of a cursor. */
                page?: components["parameters"]["page"];
                /** @description How many rows to skip; instead of a cursor. */
                offset?: components["parameters"]["offset"];
                /** @description Leave out rows created after the first page was read; with cursors alone. */
                snapshot?: components["parameters"]["snapshot"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-7dfb4cf67742
                 */
                id: components["parameters"]["users.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShareList"];
                };
            };
        };
    };
    users_share: {
        parameters: {
            query?: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-7dfb4cf67742
                 */
                id: components["parameters"]["users.id"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewShare"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShareList"];
                };
            };
        };
    };
    users_unshare: {
        parameters: {
            query: {
                /**
                 * @description The language of error details and of pages (RFC 5646); before `Accept-Language`.
                 * @example de
                 */
                lang?: components["parameters"]["lang"];
                /** @description Use user:<id>, group:<name> or role:<name>. `me` is the caller's own user:<id>, which no permission is needed to give up. */
                grantee: components["parameters"]["grantee"];
            };
            header?: never;
            path: {
                /**
                 * @description The id of the object.
                 * @example 01941f29-7c00-7000-8000-7dfb4cf67742
                 */
                id: components["parameters"]["users.id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
