"""Names that vulture cannot see used, by reason. What only tests call does not belong here: wire it or delete it."""

# ruff: noqa: B018, F821, SLF001

# Called by Python, pydantic, http.server, typer, anyio, mcp, prometheus, psycopg, onnxruntime, pickle, PyYAML, uvicorn or
# watchfiles under these names.
_._sync_gen
_.__dir__
_.__getattr__
_.find_class
_.model_config
_.model_post_init
_.do_GET
_.do_POST
_.log_message
_.close_connection
_.allow_reuse_address
_.block_on_close
_.daemon_threads
_.disable_nagle_algorithm
_.protocol_version
_.request_queue_size
client_address
_.list_commands
_.format_commands
_.__signature__
_.__annotations__
_.collect
_.intra_op_num_threads
_.log_severity_level
_.yaml_implicit_resolvers
_.rust_timeout
_.itersize
_.total_tokens
_.should_exit
_.on_message_complete
_.on_message_begin
_.on_header
_.on_headers_complete
_.on_body
_.pause_writing
_.resume_writing
_.handle_async_request
_.run_stdio_async

# Tools of MCP profiles: the server finds the class by its profile and registers its public methods.
PlainVerbTools
_.remember
PurgeTools
_.preview_purge
_.memory_forget_preview
_.memory_forget
_.memory_wrong
GardenTools
_.list_conflicts
_.plan_upkeep
_.run_upkeep
_.settle_conflict
_.undo_upkeep
KnowledgeGraphTools
_.add_observations
_.create_entities
_.create_relations
_.delete_entities
_.delete_observations
_.delete_relations
_.open_nodes
_.read_graph
_.search_nodes
Mem0Tools
_.add_memory
_.delete_memory
_.get_memories
_.get_memory
_.search_memories
_.update_memory
SearchFetchTools
MemoryTools
_.memory_add
_.memory_context
_.memory_delete
_.memory_get
_.memory_history
_.memory_link
_.memory_list
_.memory_search
_.memory_update

# Fields of answers and members of enumerations: read by clients.
_.unstored
_.fixed_by
_.restart
_.in_use
_.has_key
_.destination
_.json_by
entity_type
generation_count
is_active
maybe
webhook_id
agents
embed_model
kg
l0
l1
llm_model
member_count
recall_enabled
registry
sim
wiped
new_memory
old_memory
org_id
previous
project_id
updated_at
user_email
imports
lag_seconds
basis
retried
proven
purged
search_p50
search_p95
merged_away
put_away
addedObservations
entityName
entityType
success
jobs_dead
age_seconds
median_seconds
longest_seconds
queue_seconds
jobs_waiting
tagged
lease_until
LOCAL
SYNCED
BUTTON
HIGH
LOW
NONE
POSITIVE
SKIP
VOICE

# Public API of the package, of ``engrams.testing`` and of the adapters.
_.add_nowait
_.concepts
_.forward
_.down
_.format_for_injection
_.schemas
_.str_replace

# Methods that agent frameworks call, by adapter.
# OpenAI Agents SDK
_.get_items
_.add_items
_.pop_item
_.clear_session
# Claude Agent SDK
_.load
_.list_sessions
_.list_session_summaries
_.list_subkeys
# LangGraph
_.supports_ttl
_.index_config
_.ttl_config
_.from_conn_string
_.sweep_ttl
_.start_ttl_sweeper
# Anthropic
AnthropicMemoryTool
AsyncAnthropicMemoryTool
_.clear_all_memory
# Agent Framework
_.before_run
_.after_run
# CrewAI
CrewAIStorage
_.get_record
_.list_records
_.get_scope_info
_.list_categories
_.asave
_.asearch
_.adelete
# Google ADK
GoogleADKMemoryService
_.add_session_to_memory
_.add_memory
_.search_memory
_.delete_memory
# LangChain
LangChainRetriever
LangChainStore
_.mget
_.mset
_.mdelete
_.yield_keys
_._get_relevant_documents
run_manager
# LlamaIndex
LlamaIndexMemoryBlock
_._aget
_._aput
_.atruncate
# Pydantic AI
PydanticAIConversationStore
PydanticAIMemory
_.for_run
_.get_toolset
_.before_model_request
_.read_record
_.read_records
_.write_record
_.delete_record
_.read_entry
_.read_history
# Strands Agents
StrandsMemoryStore
AgentFrameworkContextProvider
_.description
_.max_search_results
_.writable
_.extraction
_.add_messages

# Read by a test that holds the table of rights against the routes.
list_operations
