//! The types of the official crate, by version.
//!
//! Owns the list. A type that a release adds or drops is added or dropped here; the compiler tells about dropped ones.

/// Calls `$add!(version, Type)` for each type.
macro_rules! for_each_type {
    ($add:ident) => {
        each!($add v1
            AgentAuthCapabilities AgentCapabilities AgentNotification AgentRequest AgentResponse
            Annotations AudioContent AuthCapabilities AuthMethod AuthMethodAgent AuthMethodId
            AuthMethodTerminal AuthenticateRequest AuthenticateResponse AvailableCommand
            AvailableCommandInput AvailableCommandsUpdate BlobResourceContents
            BooleanConfigOptionCapabilities BooleanPropertySchema CancelNotification
            CancelRequestNotification ClientCapabilities ClientNotification ClientRequest
            ClientResponse ClientSessionCapabilities CloseSessionRequest CloseSessionResponse
            CompactionCapabilities CompactionId CompactionStatus CompactionSummaryChunk
            CompactionUpdate CompleteElicitationNotification ConfigOptionUpdate Content
            ContentBlock ContentChunk Cost CreateElicitationRequest CreateElicitationResponse
            CreateTerminalRequest CreateTerminalResponse CurrentModeUpdate DeleteSessionRequest
            DeleteSessionResponse Diff ElicitationAcceptAction ElicitationAction
            ElicitationCapabilities ElicitationContentValue ElicitationFormCapabilities
            ElicitationFormMode ElicitationId ElicitationMode ElicitationPropertySchema
            ElicitationRequestScope ElicitationSchema ElicitationSchemaType ElicitationScope
            ElicitationSessionScope ElicitationUrlCapabilities ElicitationUrlMode
            EmbeddedResource EmbeddedResourceResource EnumOption EnvVariable Error ErrorCode
            ErrorStopReason ExtNotification ExtRequest ExtResponse FileSystemCapabilities
            HttpHeader IdleStateUpdate IdleStopReason ImageContent Implementation
            InitializeRequest InitializeResponse IntegerPropertySchema KillTerminalRequest
            KillTerminalResponse ListSessionsRequest ListSessionsResponse LoadSessionRequest
            LoadSessionResponse LogoutCapabilities LogoutRequest LogoutResponse McpCapabilities
            McpServer McpServerHttp McpServerSse McpServerStdio MessageId MultiSelectItems
            MultiSelectPropertySchema NewSessionRequest NewSessionResponse Notice
            NoticeCapabilities NoticeSeverity NumberPropertySchema OtherElicitationAction
            OtherElicitationMode OtherElicitationPropertySchema OtherMultiSelectItems
            OtherStateUpdate OtherStopReason PermissionOption PermissionOptionId
            PermissionOptionKind Plan PlanCapabilities PlanEntry PlanEntryPriority
            PlanEntryStatus PlanId PlanItems PlanMarkdown PlanRemoved PlanUpdate
            PlanUpdateContent PromptCapabilities PromptRequest PromptResponse
            ProtocolLevelNotification ReadTextFileRequest ReadTextFileResponse
            ReleaseTerminalRequest ReleaseTerminalResponse RequestId RequestPermissionOutcome
            RequestPermissionRequest RequestPermissionResponse RequiresActionStateUpdate
            ResourceLink ResumeSessionRequest ResumeSessionResponse Role RunningStateUpdate
            SelectedPermissionOutcome SessionAdditionalDirectoriesCapabilities
            SessionCancelCapabilities SessionCapabilities SessionCloseCapabilities
            SessionConfigBoolean SessionConfigGroupId SessionConfigId SessionConfigKind
            SessionConfigOption SessionConfigOptionCategory SessionConfigOptionValue
            SessionConfigOptionsCapabilities SessionConfigSelect SessionConfigSelectGroup
            SessionConfigSelectOption SessionConfigSelectOptions SessionConfigValueId
            SessionDeleteCapabilities SessionId SessionInfo SessionInfoUpdate
            SessionListCapabilities SessionMessage SessionMessageChunk SessionMode SessionModeId
            SessionModeState SessionNotification SessionReference SessionResumeCapabilities
            SessionSystemPromptCapabilities SessionSystemPromptModeCapabilities
            SessionSystemPromptOverrideCapabilities SessionUpdate SetSessionConfigOptionRequest
            SetSessionConfigOptionResponse SetSessionModeRequest SetSessionModeResponse
            StateUpdate StopReason StringFormat StringMultiSelectItems StringPropertySchema
            SubagentCapabilities SubagentSessionCapabilities SubagentUpdate SystemPrompt
            SystemPromptMode Terminal TerminalExitStatus TerminalId TerminalOutputRequest
            TerminalOutputResponse TextContent TextResourceContents TitledMultiSelectItems
            ToolCall ToolCallContent ToolCallId ToolCallLocation ToolCallStatus ToolCallUpdate
            ToolCallUpdateFields ToolKind UnknownStateUpdate UnstructuredCommandInput
            UsageUpdate WaitForTerminalExitRequest WaitForTerminalExitResponse
            WriteTextFileRequest WriteTextFileResponse
        );
        #[cfg(feature = "unstable")]
        each!($add v1
            ArchiveSessionRequest ArchiveSessionResponse AuthAccount AuthState
            AuthStatusCapabilities AuthStatusRequest AuthStatusResponse
            AuthStatusUpdateNotification CursorAnchor CursorAnchorPosition CursorCapabilities
            CursorCompactionAnchor CursorForkCapabilities CursorId CursorMessageAnchor
            CursorToolCallAnchor CursorUpdate DisableProviderRequest DisableProviderResponse
            ForkSessionRequest ForkSessionResponse InitialSessionConfigOption
            InitializeProxyRequest InitializeProxyResponse ListProvidersRequest
            ListProvidersResponse LlmProtocol McpError McpRequestId McpServerAcp McpServerAcpId
            MessageMcpNotification MessageMcpRequest MessageMcpResponse OtherCursorAnchor
            PromptSuggestion PromptSuggestionsAudioCapabilities PromptSuggestionsCapabilities
            PromptSuggestionsEmbeddedContextCapabilities PromptSuggestionsImageCapabilities
            PromptSuggestionsUpdate ProviderCurrentConfig ProviderId ProviderInfo
            ProvidersCapabilities ProxyNotification ProxyRequest ProxyResponse
            ProxySuccessorNotification ProxySuccessorRequest ProxySuccessorResponse
            SessionArchiveCapabilities SessionArchiveFilter SessionCursorsCapabilities
            SessionForkCapabilities SessionOptionsCapabilities SessionOptionsRequest
            SessionOptionsResponse SessionStatus SessionStatusCapabilities SessionStatusRequest
            SessionStatusResponse SessionTitleCapabilities SetProviderRequest
            SetProviderResponse SetSessionTitleRequest SetSessionTitleResponse
            UnarchiveSessionRequest UnarchiveSessionResponse Usage
        );
        each!($add v2
            AbsolutePath AgentAuthCapabilities AgentCapabilities AgentMessage AgentNotification
            AgentRequest AgentResponse AgentThought Annotations AudioContent AuthMethod
            AuthMethodAgent AuthMethodId AuthMethodTerminal AvailableCommand
            AvailableCommandInput AvailableCommandsUpdate BackgroundSubagent BackgroundTerminal
            BackgroundToolCall BackgroundWork BlobResourceContents BooleanPropertySchema
            CancelRequestNotification CancelSessionNotification CancelTerminalRequest
            CancelTerminalResponse CancelToolCallRequest CancelToolCallResponse
            CancelledPermissionOutcome ClientAuthCapabilities ClientCapabilities
            ClientNotification ClientRequest ClientResponse CloseSessionRequest
            CloseSessionResponse Command CommandPermissionSubject CompactionId CompactionStatus
            CompactionSummaryChunk CompactionUpdate CompleteElicitationNotification
            ConfigOptionUpdate Content ContentBlock ContentChunk Cost CreateElicitationRequest
            CreateElicitationResponse DeleteSessionRequest DeleteSessionResponse Diff DiffChange
            DiffChangeOperation DiffFileType DiffPatch DiffPatchFormat DiffPathChange
            DiffPathPairChange ElicitationAcceptAction ElicitationAction ElicitationCapabilities
            ElicitationContentValue ElicitationFormCapabilities ElicitationFormMode
            ElicitationId ElicitationMode ElicitationPropertySchema ElicitationRequestScope
            ElicitationSchema ElicitationSchemaType ElicitationScope ElicitationSessionScope
            ElicitationUrlCapabilities ElicitationUrlMode EmbeddedResource
            EmbeddedResourceResource EnumOption EnvVariable Error ErrorCode ErrorStopReason
            ExtNotification ExtRequest ExtResponse HttpHeader Icon IconTheme IdempotencyKey
            IdleStateUpdate ImageContent Implementation InitializeRequest InitializeResponse
            IntegerPropertySchema ListSessionsRequest ListSessionsResponse LoginAuthRequest
            LoginAuthResponse LogoutAuthRequest LogoutAuthResponse McpCapabilities
            McpHttpCapabilities McpServer McpServerHttp McpServerStdio McpStdioCapabilities
            MediaType MessageId MultiSelectItems MultiSelectPropertySchema NewSessionRequest
            NewSessionResponse Notice NoticeSeverity NumberPropertySchema OtherAuthMethod
            OtherAvailableCommand OtherAvailableCommandInput OtherBackgroundWork
            OtherContentBlock OtherDiffChange OtherElicitationAction OtherElicitationMode
            OtherElicitationPropertySchema OtherMcpServer OtherMultiSelectItems
            OtherPlanUpdateContent OtherReplayFrom OtherRequestPermissionOutcome
            OtherRequestPermissionSubject OtherSessionConfigKind OtherSessionConfigOptionValue
            OtherSessionUpdate OtherStateUpdate OtherStopReason OtherToolCallContent
            PermissionOption PermissionOptionId PermissionOptionKind PlanEntry PlanEntryPriority
            PlanEntryStatus PlanId PlanItems PlanMarkdown PlanRemoved PlanUpdate
            PlanUpdateContent PromptAudioCapabilities PromptCapabilities
            PromptEmbeddedContextCapabilities PromptImageCapabilities PromptRequest
            PromptResponse ProtocolLevelNotification ReplayComplete ReplayFrom ReplayFromStart
            RequestId RequestPermissionOutcome RequestPermissionRequest
            RequestPermissionResponse RequestPermissionSubject RequiresActionStateUpdate
            ResourceLink ResumeSessionRequest ResumeSessionResponse Role RunningStateUpdate
            SelectedPermissionOutcome SessionAdditionalDirectoriesCapabilities
            SessionCancelCapabilities SessionCapabilities SessionConfigBoolean
            SessionConfigGroupId SessionConfigId SessionConfigKind SessionConfigOption
            SessionConfigOptionCategory SessionConfigOptionValue SessionConfigSelect
            SessionConfigSelectGroup SessionConfigSelectOption SessionConfigSelectOptions
            SessionConfigValueId SessionDeleteCapabilities SessionId SessionInfo
            SessionInfoUpdate SessionListCursor SessionMessage SessionMessageChunk
            SessionNotFoundErrorData SessionReference SessionSystemPromptCapabilities
            SessionSystemPromptModeCapabilities SessionSystemPromptOverrideCapabilities
            SessionUpdate SetSessionConfigOptionRequest SetSessionConfigOptionResponse
            StateUpdate StopReason StringFormat StringMultiSelectItems StringPropertySchema
            SubagentSessionCapabilities SubagentUpdate SystemPrompt SystemPromptMode Terminal
            TerminalAuthCapabilities TerminalCancelCapabilities TerminalCapabilities
            TerminalExitStatus TerminalId TerminalOutput TerminalOutputChunk TerminalSize
            TerminalUpdate TextCommandInput TextContent TextResourceContents
            TitledMultiSelectItems ToolCallCancelCapabilities ToolCallCapabilities
            ToolCallContent ToolCallContentChunk ToolCallId ToolCallLocation
            ToolCallPermissionSubject ToolCallStatus ToolCallUpdate ToolKind UnknownStateUpdate
            UnsupportedProtocolVersionErrorData UpdateSessionNotification UsageUpdate
            UserMessage
        );
        #[cfg(feature = "unstable")]
        each!($add v2
            ArchiveSessionRequest ArchiveSessionResponse AuthAccount AuthState
            AuthStatusCapabilities AuthStatusRequest AuthStatusResponse
            AuthStatusUpdateNotification ClientSessionCapabilities CommandsCapabilities
            CommandsSkillCapabilities CursorAnchor CursorAnchorPosition CursorCapabilities
            CursorCompactionAnchor CursorForkCapabilities CursorId CursorMessageAnchor
            CursorToolCallAnchor CursorUpdate DisableProviderRequest DisableProviderResponse
            ForkSessionRequest ForkSessionResponse InitialSessionConfigOption
            InitializeProxyRequest InitializeProxyResponse ListProvidersRequest
            ListProvidersResponse LlmProtocol McpAcpCapabilities McpError McpRequestId
            McpServerAcp McpServerAcpId MessageMcpNotification MessageMcpRequest
            MessageMcpResponse OtherCursorAnchor PromptSkillCapabilities
            PromptSkillInlineCapabilities PromptSuggestion PromptSuggestionsAudioCapabilities
            PromptSuggestionsCapabilities PromptSuggestionsEmbeddedContextCapabilities
            PromptSuggestionsImageCapabilities PromptSuggestionsUpdate ProviderCurrentConfig
            ProviderId ProviderInfo ProvidersCapabilities ProxyNotification ProxyRequest
            ProxyResponse ProxySuccessorNotification ProxySuccessorRequest
            ProxySuccessorResponse SessionArchiveCapabilities SessionArchiveFilter
            SessionForkCapabilities SessionOptionsCapabilities SessionOptionsRequest
            SessionOptionsResponse SessionStatus SessionStatusCapabilities SessionStatusRequest
            SessionStatusResponse SessionTitleCapabilities SetProviderRequest
            SetProviderResponse SetSessionTitleRequest SetSessionTitleResponse Skill
            SkillReference UnarchiveSessionRequest UnarchiveSessionResponse Usage
        );
    };
}

/// Calls a macro with a version and each of some names.
macro_rules! each {
    ($add:ident $version:ident $($name:ident)*) => {
        $($add!($version, $name);)*
    };
}

pub(crate) use {each, for_each_type};
